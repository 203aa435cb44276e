package actors

import (
	"fmt"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// unavailable is the sentence for those that the shard cannot serve now.
func (s *Shard) unavailable(why string) string {
	if s.cfg.Fault != nil && s.cfg.Fault() != nil {
		why += " (this node cannot store on its disk)"
	}
	return fmt.Sprintf("shard %d %s; nothing happened, try again", s.cfg.Shard, why)
}

// refuse answers a request that was not looked at.
func (s *shardActor) refuse(r *Request, why string) {
	if to, ok := r.from(); ok {
		s.cfg.Outbox.Answer(s.cfg.Shard, []lease.Answer{s.refusal(to, why)})
	}
	s.settleRequest(r)
}

// void answers decisions of which it is certain that they were not stored.
func (s *shardActor) void(t *tenure, decisions []*decision, why string) {
	for _, d := range decisions {
		t.done(d.seat)
		for _, a := range d.outcome.Answers {
			s.cfg.Outbox.Answer(s.cfg.Shard, []lease.Answer{s.refusal(a.To, why)})
		}
		s.settle(d)
	}
}

// leaveUnanswered gives decisions up of which nobody knows whether they were stored.
func (s *shardActor) leaveUnanswered(t *tenure, decisions []*decision, why error) {
	for _, d := range decisions {
		t.done(d.seat)
		s.settle(d)
	}
	if s.leaving && len(decisions) > 0 {
		s.unanswered = why
	}
}

func (s *shardActor) refusal(to messages.ReplyTo, why string) lease.Answer {
	return lease.Answer{To: to, Reply: &messages.Reply{
		Status: messages.Status_UNAVAILABLE, Error: s.unavailable(why),
	}}
}

// settle takes a decision's request off those that are on their way.
func (s *shardActor) settle(d *decision) { s.settleRequest(d.request) }

func (s *shardActor) settleRequest(r *Request) {
	if r == nil {
		return
	}
	if _, ok := r.from(); ok {
		s.taken--
		s.requests.leave(1)
	}
}
