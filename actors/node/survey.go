package node

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// surveyTimeout bounds how long a survey waits for a shard.
	surveyTimeout = 5 * time.Second
	// maxSurveys is how many surveys may be under way on a node, and maxTenantSurveys how many of them of one tenant.
	maxSurveys, maxTenantSurveys = 1 << 10, maxSurveys / pendingShares
)

// surveyor asks all shards about a session for a client that does not ask each of them by itself. Each shard gets the
// request as from a client, with an inbox of the node. It is safe for concurrent use.
type surveyor struct {
	inbox     inbox
	clock     actors.Clock
	transport *transport
	present   *present
	outbox    *outbox

	mu sync.Mutex
	// under has the surveys under way by their number, and last is the number of the latest.
	under map[uint64]*survey
	last  uint64
	// of counts those of each tenant that has some.
	of map[string]int
}

// survey is one request to all shards.
type survey struct {
	to messages.ReplyTo
	// left are the shards that have not answered.
	left map[uint32]bool
	sum  sum
	stop func() bool
}

func newSurveyor(cfg Config, t *transport, p *present, o *outbox) *surveyor {
	return &surveyor{
		inbox: newInbox(cfg.Outbox), clock: cfg.Clock, transport: t, present: p, outbox: o,
		under: make(map[uint64]*survey), of: make(map[string]int),
	}
}

// ask sends a request to all shards.
func (s *surveyor) ask(e routing.Envelope) {
	if _, err := s.transport.decode(e); err != nil {
		s.transport.Refuse(e, err)
		return
	}
	g := s.present.Load()
	number, ok := s.begin(e.ReplyTo, len(g.routers))
	if !ok {
		s.transport.Refuse(e, fmt.Errorf("%w: %d requests about sessions are at all shards, or %d of the tenant, "+
			"the most that may; try later", errPending, maxSurveys, maxTenantSurveys))
		return
	}
	e.ReplyTo.Origin.Inner, e.ReplyTo.Origin.Trace = true, nil // the trace is that of the whole request
	e.Generation = g.Generation
	first := rand.IntN(len(g.routers))
	for shard, r := range g.routers {
		e.Shard = uint32(shard)
		e.ReplyTo.Origin.Wanted = wantedShare((shard+first)%len(g.routers), len(g.routers))
		e.ReplyTo.Subject = s.subject(number, shard)
		r.Route(e)
	}
}

// wantedShare returns how many wanted resources a shard may name, so that all shards together name no more than a keep
// may. place is that of the shard in an order that is another one for each survey, so that each shard has its turn.
func wantedShare(place, shards int) int {
	share := messages.MaxWanted / shards
	if place < messages.MaxWanted%shards {
		share++
	}
	return share // mutant: WholeShareForEachShard
}

// begin notes a survey, unless there are too many.
func (s *surveyor) begin(to messages.ReplyTo, shards int) (number uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.under) >= maxSurveys || to.Origin.Tenant != "" && s.of[to.Origin.Tenant] >= maxTenantSurveys {
		return 0, false
	}
	s.of[to.Origin.Tenant]++
	s.last++
	number = s.last
	v := &survey{to: to, left: make(map[uint32]bool, shards)}
	for shard := range shards {
		v.left[uint32(shard)] = true
	}
	s.under[number] = v
	v.stop = s.clock.AfterFunc(surveyTimeout, func() { s.finish(number) })
	return number, true
}

// answered takes in the answer of a shard.
func (s *surveyor) answered(m *nats.Msg) {
	number, shard, ok := s.parse(m.Subject)
	if ok && s.add(number, shard, m.Data) {
		s.finish(number)
	}
}

// subject returns where a shard answers.
func (s *surveyor) subject(number uint64, shard int) string {
	return s.inbox.name(fmt.Sprintf("%d.%d", number, shard))
}

// parse returns of which survey and shard a subject is.
func (s *surveyor) parse(subject string) (number uint64, shard uint32, ok bool) {
	end, ok := s.inbox.end(subject)
	first, second, _ := strings.Cut(end, ".")
	number, _ = strconv.ParseUint(first, 10, 64) // the node has made them
	n, _ := strconv.ParseUint(second, 10, 32)
	return number, uint32(n), ok
}

// add adds the answer of a shard to a survey, and reports whether it was the last one.
func (s *surveyor) add(number uint64, shard uint32, data []byte) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.under[number]
	if v == nil || !v.left[shard] {
		return false
	}
	delete(v.left, shard)
	r := &messages.Reply{}
	if err := messages.DecodeReply(v.to.Encoding, data, r); err != nil {
		r = messages.Refuse(messages.Status_UNAVAILABLE, err)
	}
	v.sum.add(shard, r)
	return len(v.left) == 0
}

// finish answers the client, once.
func (s *surveyor) finish(number uint64) {
	if v := s.take(number); v != nil {
		v.stop()
		s.outbox.refuse(0, v.to, v.sum.reply(v.left))
	}
}

// take returns a survey, which is not under way any more; nil if it was not.
func (s *surveyor) take(number uint64) *survey {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.under[number]
	if v == nil {
		return nil
	}
	delete(s.under, number)
	if s.of[v.to.Origin.Tenant]--; s.of[v.to.Origin.Tenant] == 0 {
		delete(s.of, v.to.Origin.Tenant)
	}
	return v
}

// sum is what the shards have answered together.
type sum struct {
	// done is EXTENDED or RELEASED if a shard has answered so, else 0.
	done   messages.Status
	held   uint32
	losses uint64
	wanted []string
	// refused: a shard has answered NOT_OWNER.
	refused bool
	// failure is what a shard has answered that could not take the request.
	failure string
}

func (s *sum) add(shard uint32, r *messages.Reply) {
	switch status := r.GetStatus(); status {
	case messages.Status_EXTENDED, messages.Status_RELEASED:
		s.done = status
		s.held += r.GetHeld()
		s.losses += r.GetLosses()
		s.wanted = append(s.wanted, r.GetWanted()...)
	case messages.Status_NOT_HELD:
	case messages.Status_NOT_OWNER:
		s.refused = true
	default:
		s.failure = fmt.Sprintf("shard %d: %s", shard, r.GetError())
	}
}

// reply returns the answer to the client. left are the shards without an answer.
func (s *sum) reply(left map[uint32]bool) *messages.Reply {
	switch {
	case len(left) > 0:
		return partly(fmt.Sprintf("shard %d has not answered", slices.Min(slices.Collect(maps.Keys(left)))))
	case s.failure != "":
		return partly(s.failure)
	case s.refused:
		return &messages.Reply{Status: messages.Status_NOT_OWNER}
	case s.done != 0:
		return &messages.Reply{Status: s.done, Held: s.held, Losses: s.losses, Wanted: s.wanted}
	}
	return &messages.Reply{Status: messages.Status_NOT_HELD}
}

// partly is the answer to a request that some shards may have taken.
func partly(why string) *messages.Reply {
	return &messages.Reply{
		Status: messages.Status_UNAVAILABLE, Error: why + "; other shards may have done what was asked, try again",
	}
}
