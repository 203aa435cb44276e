package reshard_test

import (
	"fmt"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// watched is the events that a subscriber has received.
type watched struct {
	*deployment
	sub *nats.Subscription
}

func (d *deployment) watch() *watched {
	d.Helper()
	nc := d.connect()
	sub, err := nc.SubscribeSync(messages.DefaultPrefix.Event(">"))
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		d.Fatal(err)
	}
	return &watched{d, sub}
}

// check checks that the subscriber and the retained stream have received what the workers did: the grants and the ends of
// each resource in turns, without a gap, and no id twice.
func (w *watched) check(l *load) {
	w.Helper()
	live, retained := newHistory(), newHistory()
	stand.Eventually(w, "the subscriber has everything", func() bool {
		for n, _, _ := w.sub.Pending(); n > 0; n-- {
			m, err := w.sub.NextMsg(patience)
			if err != nil {
				w.Fatal(err)
			}
			live.add(w, m.Header.Get(messages.HeaderEventID), m.Data)
		}
		return live.has(l)
	})
	js := stand.Value(natsjs.New(w.connect()))(w)
	stream := stand.Value(js.Stream(w.Context(), messages.DefaultPrefix.EventStream()))(w)
	consumer := stand.Value(stream.OrderedConsumer(w.Context(), natsjs.OrderedConsumerConfig{}))(w)
	info := stand.Value(stream.Info(w.Context()))(w)
	all := stand.Value(consumer.Messages())(w)
	defer all.Stop()
	for range info.State.Msgs {
		m := stand.Value(all.Next())(w)
		retained.add(w, m.Headers().Get(messages.HeaderEventID), m.Data())
	}
	if !retained.has(l) {
		w.Errorf("the stream lacks events: %d of them", info.State.Msgs)
	}
}

// history is what events say of resources.
type history struct {
	ids map[string]bool
	// ended are the leases of a resource that have ended, and held those that are held: one or none.
	ended, held map[string]uint64
	positions   map[string]messages.EventID
}

func newHistory() *history {
	return &history{make(map[string]bool), make(map[string]uint64), make(map[string]uint64), make(map[string]messages.EventID)}
}

func (h *history) add(w *watched, id string, data []byte) {
	var e messages.Event
	if err := messages.DecodeReply(messages.JSON, data, &e); err != nil {
		w.Fatal(err)
	}
	name, token := e.GetLease().GetResource(), e.GetLease().GetToken()
	if h.ids[id] || id != e.ID().String() {
		w.Errorf("%s comes twice, or is %s", id, e.ID())
	}
	h.ids[id] = true
	if last, known := h.positions[name]; known && !last.Before(e.ID()) {
		w.Errorf("%s comes behind %s", e.ID(), last)
	}
	h.positions[name] = e.ID()
	switch e.GetKind() {
	case messages.Event_ACQUIRED:
		if token != h.ended[name]+1 || h.held[name] != 0 {
			w.Errorf("%s: token %d is granted behind %d, and %d is held", name, token, h.ended[name], h.held[name])
		}
		h.held[name] = token
	case messages.Event_RELEASED:
		if h.held[name] != token {
			w.Errorf("%s: token %d ends, and %d is held", name, token, h.held[name])
		}
		h.held[name], h.ended[name] = 0, token
	case messages.Event_EXTENDED:
	default:
		w.Errorf("%s: %v", name, &e)
	}
}

// has reports whether the history has all leases of the workers.
func (h *history) has(l *load) bool {
	for _, w := range l.workers {
		for resource, token := range w.last {
			if h.ended[resource] != token {
				return false
			}
		}
	}
	return len(h.ids) > 0
}

func (h *history) String() string { return fmt.Sprint(len(h.ids), " events") }
