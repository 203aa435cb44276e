package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// publishAtMost is how long a hand-over waits for events to be published. Usually they are within a
// few milliseconds; what is not, the next owner publishes, and all the while nobody owns the shard.
const publishAtMost = 100 * time.Millisecond

// What a shard tells itself when it leaves.
type (
	// leave asks for the end; handing: with a successor.
	leave struct{ handing bool }
	// abandon asks for the end at once.
	abandon struct{}
	// hurry tells a tenure that its events have had their time.
	hurry struct{ tenure *tenure }
)

// handover is what a shard that leaves has for its successor: who waited, and who came later. All
// of the first are passed before any of the second, so that the order of each resource stays.
type handover struct {
	// leaving: no more requests are taken in.
	leaving bool
	// handing: they are passed to a successor; otherwise they are refused.
	handing bool
	// brief: a successor waits for the end.
	brief  bool
	waited []*Request
	late   []*Request
	// last is the tenure that was lost on the way; what it decided has yet to come back.
	last *tenure
	// unanswered is why requests were left without an answer, nil if none were.
	unanswered error
}

// Close takes no more requests, lets those on their way be answered, and ends the shard. When ctx
// ends before, the rest is left without an answer.
func (s *Shard) Close(ctx context.Context) error { return s.leave(ctx, false) }

// HandOver takes no more requests, lets what is decided be stored and answered, gives all others and
// those who wait to [ShardConfig.Pass], and ends the shard. Its successor publishes the events that
// could not be published in a short while; ephemeral leases end.
//
// When ctx ends before, what was decided and is not stored is left without an answer or refused, and
// the others are passed all the same. The error says that requests were left without an answer;
// in any case the shard has ended, and nothing of it goes on. A shard that has ended already, or is
// being closed, only waits for that.
func (s *Shard) HandOver(ctx context.Context) error { return s.leave(ctx, true) }

func (s *Shard) leave(ctx context.Context, handing bool) error {
	s.system.Root.Send(s.pid, leave{handing})
	var err error
	select {
	case <-s.closed:
		err = s.leftOver
	case <-ctx.Done():
		s.system.Root.Send(s.pid, abandon{})
		<-s.closed
		err = context.Cause(ctx)
	}
	s.stop()
	if err != nil {
		return fmt.Errorf("shard %d: requests were left without an answer: %w", s.cfg.Shard, err)
	}
	return nil
}

// stop ends the actor and waits for all that it has started.
func (s *Shard) stop() {
	for s.system.Root.StopFuture(s.pid).Wait() != nil { // the library gives up after ten seconds
		s.cfg.Log.Warn("the shard has not stopped yet")
	}
	s.work.Wait()
}

const leavingWhy = "is being handed over or shut down"

// leave lets those go who wait. The end comes when all others have been answered.
func (s *shardActor) leave(ctx actor.Context, handing bool) {
	if s.leaving {
		return
	}
	s.depart(handing)
	if t := s.tenure; t != nil {
		t.running, t.over = false, true
		t.sendOff(ctx, s.farewell(leavingWhy))
	} else if s.attempt != nil {
		s.attempt.cancel()
	}
}

// depart begins the end.
func (s *shardActor) depart(handing bool) {
	s.why, s.leaving, s.brief, s.handing = leavingWhy, true, handing, handing && s.cfg.Pass != nil
	s.passing.Store(s.handing)
	s.stand(Leaving)
}

// resume goes on with the end that a predecessor of this actor, which panicked, had begun.
func (s *shardActor) resume() {
	s.depart(s.passing.Load())
	s.unanswered = errors.New("the shard has panicked")
}

// abandon gives up what is not stored yet.
func (s *shardActor) abandon(ctx actor.Context) {
	if t := s.tenure; t != nil {
		s.lose(ctx, t, errors.New("there was no time left to store what was decided"))
	}
}

// farewell is what those get who wait.
func (s *shardActor) farewell(why string) lease.Event {
	if s.handing {
		return lease.Surrender{}
	}
	return lease.Dismiss{Why: s.unavailable(why)}
}

// hush ends the publishing of events before its time.
func (t *tenure) hush() {
	t.cancel()
	t.silent = true
}

// sendOff lets all go who wait, and those whom a decision that has not come back yet lets wait.
func (t *tenure) sendOff(ctx actor.Context, e lease.Event) {
	for _, s := range t.seats {
		if s.pid != nil && (s.waiting > 0 || s.busy > 0) {
			t.send(ctx, s, &Request{Resource: s.resource, Event: e})
		}
	}
}

// surrendered takes in those who waited for a resource.
func (s *shardActor) surrendered(d *decision) {
	for _, a := range d.outcome.Surrendered {
		s.waited = append(s.waited, &Request{Resource: d.seat.resource, Event: a})
	}
}

// turnAway sees to a request that this shard will not decide.
func (s *shardActor) turnAway(r *Request, why string) {
	if _, asked := r.from(); asked && s.handing {
		s.late = append(s.late, r)
	} else {
		s.refuse(r, why)
	}
}

// passOn hands all to the successor. Those who waited were not counted as on their way any more.
func (s *shardActor) passOn() {
	for _, r := range s.waited {
		s.cfg.Pass(r)
	}
	for _, r := range s.late {
		s.cfg.Pass(r)
		s.settleRequest(r)
	}
	s.waited, s.late = nil, nil
}

// deposed reports whether the shard ends because another writer has its journal.
func (s *shardActor) deposed(err error) bool {
	return s.cfg.Yields && errors.Is(err, journal.ErrConflict)
}

// endIfDone ends a shard that leaves, when nothing of it is on its way.
func (s *shardActor) endIfDone() {
	switch t := s.tenure; {
	case !s.leaving || s.Standing() == Ended:
		return
	case t != nil && (t.unfinished() || !t.windDown(s.brief)):
		return
	case s.last != nil && s.last.busy > 0:
		return
	}
	s.passOn()
	if !s.requests.end() {
		return // more are in the mailbox
	}
	s.end()
	s.leftOver = s.unanswered
	s.stand(Ended)
	close(s.closed)
}
