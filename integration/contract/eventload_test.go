package contract

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// eager is how many clients a load has.
const eager = 8

// busy lets clients acquire, extend, release and break a few resources at random, and returns when
// each has asked so often. What they are answered, or whether, is all the same.
func busy(s *stand.Stand, times int) {
	s.Helper()
	_, wait := beginBusy(s, times)
	wait()
}

// crashBusy lets the node crash in the middle of that, when it has committed what it has not published.
func crashBusy(s *stand.Stand, times int) {
	s.Helper()
	half, wait := beginBusy(s, times)
	<-half
	s.CutEvents()
	busy(s, times/4)
	s.CrashNode()
	wait()
}

func beginBusy(s *stand.Stand, times int) (half <-chan struct{}, wait func()) {
	s.Helper()
	reached := make(chan struct{})
	var asked atomic.Int64
	var clients sync.WaitGroup
	for owner, dice := range stand.Dice(s, eager) {
		nc := s.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond))
		clients.Go(func() {
			for range times {
				subject := fmt.Sprint(".r.", dice.IntN(10))
				op, request := "acquire", fmt.Sprintf(`{"owner":"%d","ttl_ms":%d,"wait_ms":%d}`, owner,
					100+dice.IntN(200), dice.IntN(20))
				switch dice.IntN(8) {
				case 0:
					op, request = "extend", fmt.Sprintf(`{"owner":"%d","ttl_ms":%d}`, owner, 100+dice.IntN(200))
				case 1, 2, 3:
					op, request = "release", fmt.Sprintf(`{"owner":"%d"}`, owner)
				case 4:
					op, request = "break", fmt.Sprintf(`{"token":%d}`, 1+dice.IntN(20))
				}
				_, _ = nc.Request("holdfast."+op+subject, []byte(request), 200*time.Millisecond)
				if asked.Add(1) == int64(eager*times/2) {
					close(reached)
				}
			}
		})
	}
	return reached, clients.Wait
}

// journalled returns the events of all that is committed, of each shard in their order.
func journalled(s *stand.Stand) map[uint32][]*messages.Event {
	s.Helper()
	d := stand.Value(jetstream.OpenDeployment(s.Context(), s.Connect(),
		jetstream.DeploymentConfig{Prefix: messages.DefaultPrefix}))(s)
	all := make(map[uint32][]*messages.Event)
	for shard := range d.Shards() {
		stand.Value(d.Bucket(shard).Replay(s.Context(), 0, func(position uint64, r *journal.Record) error {
			all[shard] = append(all[shard], journal.Events(shard, position, r.GetCommit())...)
			return nil
		}))(s)
	}
	return all
}

// history checks what a consumer sees of the resources of a shard.
type history struct {
	testing.TB
	seen map[messages.EventID]bool
	last map[string]*messages.Event
}

func newHistory(tb testing.TB) *history {
	tb.Helper()
	return &history{tb, make(map[messages.EventID]bool), make(map[string]*messages.Event)}
}

// add takes in an event, and reports whether it is a new one: then it must follow the one before it on
// its resource.
func (h *history) add(e *messages.Event) bool {
	h.Helper()
	if h.seen[e.ID()] {
		return false
	}
	h.seen[e.ID()] = true
	resource := e.GetLease().GetResource()
	before, token := h.last[resource], e.GetLease().GetToken()
	h.last[resource] = e
	held := before.GetKind() == messages.Event_ACQUIRED || before.GetKind() == messages.Event_EXTENDED ||
		before.GetKind() == messages.Event_UPDATED
	switch {
	case before != nil && !before.ID().Before(e.ID()):
		h.Errorf("%s: %v comes behind %v", resource, e, before)
	case e.GetKind() == messages.Event_ACQUIRED && (held || token <= before.GetLease().GetToken()):
		h.Errorf("%s: granted while held, or with a lower token: %v behind %v", resource, e, before)
	case e.GetKind() != messages.Event_ACQUIRED && (!held || token != before.GetLease().GetToken()):
		h.Errorf("%s: %v without the grant, behind %v", resource, e, before)
	}
	return true
}

// A subscriber sees all that is committed and nothing else, in order, also what its node could not
// publish before it died.
func TestEventsAreTheJournal(t *testing.T) {
	s := stand.Start(t, stand.Config{Shards: 2})
	w := watch(t, s.Connect(), "holdfast.event.>")
	for range 3 {
		crashBusy(s, 120)
		s.StartNode()
	}
	busy(s, 60)
	s.StopNode() // so that no lease runs out any more
	h := newHistory(t)
	committed := make(map[messages.EventID]bool)
	for _, events := range journalled(s) {
		for _, e := range events {
			committed[e.ID()] = true
		}
	}
	for len(h.seen) < len(committed) {
		if e := w.next(); h.add(e) && !committed[e.ID()] {
			t.Fatalf("%v was never committed", e)
		}
	}
	t.Logf("%d events", len(committed))
}

// The stream has every event once, whatever ends in between, and for how long.
func TestRetainedEventsAreTheJournal(t *testing.T) {
	s := stand.Start(t, stand.Config{Shards: 2, Retention: time.Hour})
	js := stand.Value(natsjs.New(s.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond))))(t)
	for i := range 4 {
		crashBusy(s, 80)
		if i%2 == 1 {
			outlive(t, js, i)
		}
		s.StartNode()
	}
	busy(s, 40)
	s.Restart()
	busy(s, 40)
	s.StopNode()

	h, want := newHistory(t), journalled(s)
	stream := stand.Value(js.Stream(t.Context(), "HOLDFAST_EVENTS"))(t)
	for sequence := uint64(1); sequence <= stream.CachedInfo().State.LastSeq; sequence++ {
		m := stand.Value(stream.GetMsg(t.Context(), sequence))(t)
		if m.Subject == probe {
			continue
		}
		e := mustReadEvent(t, m.Subject, m.Header, m.Data)
		switch rest := want[e.GetShard()]; {
		case !h.add(e):
			t.Fatalf("%v is there twice", e)
		case len(rest) == 0 || rest[0].ID() != e.ID():
			t.Fatalf("%v does not come next of its shard", e)
		default:
			want[e.GetShard()] = rest[1:]
		}
	}
	for shard, rest := range want {
		if len(rest) > 0 {
			t.Errorf("shard %d: %d events are missing, from %v on", shard, len(rest), rest[0])
		}
	}
	t.Logf("%d events", len(h.seen))
}

// probe is the subject of a message of the test's own among the events, which it publishes as a node would.
const probe = "holdfast.event.probe"

// outlive returns when the stream does not know any message id again that it has seen before.
func outlive(t *testing.T, js natsjs.JetStream, round int) {
	t.Helper()
	c := &client{t, js.Conn()}
	publish := func() bool {
		ack := stand.Value(js.Publish(t.Context(), messages.DefaultPrefix.StoredEvent("probe"), nil,
			natsjs.WithMsgID(fmt.Sprint("probe ", round))))(t)
		return !ack.Duplicate
	}
	publish()
	c.until("the window for duplicates is over", publish)
}
