package reshard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// While the number of shards changes twice, no call of a Go client fails, none of its locks is lost, and a watch has
// every change once. Afterwards the client uses the direct subjects of the present shards, and a watch goes on from any
// position.
func TestClientsFollow(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3, 2)
	d.settled(d.connect())
	live := d.watch()
	begun := time.Now().Add(-time.Second)
	all := d.follow(d.connect(), holdfast.Bookmarks(time.Hour))
	one := d.follow(d.connect(), holdfast.Kinds(holdfast.EventAcquired))
	c := stand.Client(t, d.connect())
	var locks []*holdfast.Lock
	for i := range 40 {
		locks = append(locks, stand.Value(c.Acquire(t.Context(), fmt.Sprint("held", i), holdfast.TTL(15*time.Second)))(t))
	}
	turns := d.turns(4)
	present := d.connect()
	for _, next := range []messages.Shards{{Generation: 1, Count: 5}, {Generation: 2, Count: 3}} {
		direct := stand.Value(present.SubscribeSync(messages.DefaultPrefix.Shard(next.Shard(0))))(t)
		d.moves(all, one)
		d.mustReshard(next.Count)
		stand.Value(direct.NextMsg(patience))(t) // of a client that has learned of it
		d.moves(all, one)
	}
	turns.end()
	for _, l := range locks {
		state := stand.Value(c.Get(t.Context(), l.Resource()))(t)
		if !l.Valid() || !state.Held || state.Token != l.Token() {
			t.Errorf("%v is valid: %v, and the service has %+v", l, l.Valid(), state)
		}
		stand.Must(t, l.Release(t.Context()))
	}
	past := d.past(holdfast.Since(begun))
	live.await(past, all)
	all.stop()
	one.stop()
	for i := 0; i < len(all.events); i += max(len(all.events)/10, 1) {
		from := all.events[i].Position()
		text := stand.Value(holdfast.ParsePosition(from.String()))(t)
		d.same(fmt.Sprint("from ", from), all.events[i+1:], d.past(holdfast.From(text)))
	}
	d.same("since the beginning", all.events, past)
	last := make(map[string]messages.EventID)
	for _, e := range all.events {
		name := e.Lease.Resource
		if before, known := last[name]; known && !before.Before(e.ID) {
			t.Errorf("%v of id %v comes behind %v", e, e.ID, before)
		}
		last[name] = e.ID
	}
}

// following is a watch under way.
type following struct {
	mu     sync.Mutex
	events []holdfast.Event
	stop   func()
}

// follow watches from now on.
func (d *deployment) follow(nc *nats.Conn, options ...holdfast.WatchOption) *following {
	d.Helper()
	c := stand.Client(d, nc)
	ctx, cancel := context.WithCancel(context.Background())
	f := &following{}
	var running sync.WaitGroup
	f.stop = func() { cancel(); running.Wait() }
	d.Cleanup(f.stop)
	stands := make(chan struct{}, 1)
	running.Go(func() {
		for e, err := range c.Watch(ctx, ">", append(options, holdfast.Bookmarks(time.Hour))...) {
			switch {
			case err != nil && ctx.Err() == nil:
				d.Errorf("the watch ends: %v", err)
			case e.Kind == holdfast.EventBookmark:
				stands <- struct{}{}
			case err == nil:
				f.mu.Lock()
				f.events = append(f.events, e)
				f.mu.Unlock()
			}
		}
	})
	<-stands
	return f
}

func (f *following) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.events)
}

// moves waits until watches have had more events.
func (d *deployment) moves(all ...*following) {
	d.Helper()
	for _, f := range all {
		before := f.count()
		stand.Eventually(d, "a watch goes on", func() bool { return f.count() > before+100 })
	}
}

// past returns what a watch yields that ends with what there is.
func (d *deployment) past(o holdfast.WatchOption) (events []holdfast.Event) {
	d.Helper()
	for e, err := range stand.Client(d, d.connect()).Watch(d.Context(), ">", o, holdfast.UntilNow()) {
		if err != nil {
			d.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// same checks that events are the same, whatever the order of those of different resources.
func (d *deployment) same(what string, want, got []holdfast.Event) {
	d.Helper()
	if w, g := idsOf(want), idsOf(got); !slices.Equal(w, g) {
		d.Errorf("%s: %d events, want %d", what, len(g), len(w))
	}
}

func idsOf(events []holdfast.Event) (ids []string) {
	for _, e := range events {
		ids = append(ids, e.ID.String())
	}
	slices.Sort(ids)
	return ids
}

// await waits until a watch has all events of the past, which were all published.
func (w *watched) await(past []holdfast.Event, f *following) {
	w.Helper()
	published := make(map[string]bool)
	stand.Eventually(w, "the watch has everything, and everything is published", func() bool {
		for n, _, _ := w.sub.Pending(); n > 0; n-- {
			published[stand.Value(w.sub.NextMsg(patience))(w).Header.Get(messages.HeaderEventID)] = true
		}
		return f.count() >= len(past) && len(published) >= len(past)
	})
	w.same("published", past, slices.DeleteFunc(slices.Clone(past), func(e holdfast.Event) bool {
		return !published[e.ID.String()]
	}))
}

// turns are clients that take and release locks until they are ended: every other one caches them.
type turns struct {
	over    atomic.Bool
	running sync.WaitGroup
}

func (d *deployment) turns(clients int) *turns {
	d.Helper()
	s := &turns{}
	for i := range clients {
		var options []holdfast.AcquireOption
		if i%2 == 1 {
			options = append(options, holdfast.Cached(50*time.Millisecond))
		}
		c := stand.Client(d, d.connect())
		s.running.Go(func() {
			last := make(map[string]holdfast.Token)
			for n := 0; !s.over.Load() && !d.Failed(); n++ {
				name := fmt.Sprintf("turn%d-%d", i, n%20)
				l, err := c.Acquire(d.Context(), name, options...)
				if err != nil {
					d.Errorf("acquire %s: %v", name, err)
					return
				}
				if l.Token() <= last[name] || len(options) == 0 && l.Token() != last[name]+1 {
					d.Errorf("%s: token %d behind %d", name, l.Token(), last[name])
				}
				last[name] = l.Token()
				if err := l.Release(d.Context()); err != nil {
					d.Errorf("release %s: %v", name, err)
				}
			}
			if err := c.Close(d.Context()); err != nil {
				d.Error(err)
			}
		})
	}
	return s
}

func (s *turns) end() {
	s.over.Store(true)
	s.running.Wait()
}
