package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/internal/testserver"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// leap is by how much positions and numbers are higher in the journals of the next generation.
const leap = 1 << 20

// written is a deployment whose journals a test writes, and what its service says of its shards.
type written struct {
	t      *testing.T
	js     jetstream.JetStream
	source Source
	says   atomic.Pointer[messages.Shards]
	// now is the time of the commits, a millisecond later with each.
	now time.Time
	// layout is where resources are now, tails are the ends of the journals.
	layout messages.Shards
	tails  map[messages.Shard]*journal.Tail
	// events are those that were written, in their order.
	events []string
}

func newWritten(t *testing.T, nc *nats.Conn, prefix messages.Prefix, shards uint32) *written {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	w := &written{t: t, js: js, now: time.UnixMilli(1e12), tails: map[messages.Shard]*journal.Tail{}}
	w.source = Source{
		Conn: nc, JetStream: js, Imported: js, Prefix: prefix, Singly: new(atomic.Bool),
		Shards:      func(context.Context) (messages.Shards, error) { return *w.says.Load(), nil },
		Reconnected: func() <-chan struct{} { return nil },
	}
	w.layout = messages.Shards{Count: shards}
	w.create(w.layout, false)
	w.use(w.layout)
	return w
}

// create creates the journals of a generation. Those of a later one than the first begin with pages and a commit.
func (w *written) create(of messages.Shards, filled bool) {
	w.t.Helper()
	for n := range of.Count {
		shard := of.Shard(n)
		bucket := w.source.Prefix.Bucket(shard)
		_, err := w.js.CreateStream(w.t.Context(), jetstream.StreamConfig{
			Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"}, MaxMsgsPerSubject: 1,
			FirstSeq: leap*uint64(of.Generation) + 1, AllowRollup: true,
			Metadata: map[string]string{metaShards: strconv.Itoa(int(of.Count))},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.tails[shard] = &journal.Tail{}
		if !filled {
			continue
		}
		first := leap * uint64(of.Generation)
		w.tails[shard] = &journal.Tail{Number: first - 1, Epoch: first}
		w.append(shard, pageOf(0, 0, "copied"))
		w.commit(shard, &journal.Commit{Opened: true, Published: first, Changes: []*journal.Change{change("copied", 1)}})
	}
}

// use has the service say that it has these shards. Their owners open them.
func (w *written) use(of messages.Shards) {
	w.t.Helper()
	w.layout = of
	w.says.Store(&of)
	for n := range of.Count {
		w.commit(of.Shard(n), &journal.Commit{Opened: true})
	}
}

// close closes all journals for another generation.
func (w *written) close(next messages.Shards) {
	w.t.Helper()
	for n := range w.layout.Count {
		w.closeOne(w.layout.Shard(n), next)
	}
}

func (w *written) closeOne(shard messages.Shard, next messages.Shards) {
	w.t.Helper()
	w.commit(shard, &journal.Commit{Closed: &journal.Closed{Generation: next.Generation, Shards: next.Count}})
}

// nameIn returns a resource of a shard.
func (w *written) nameIn(number uint32) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("r", i); w.layout.Of(name).Number == number {
			return name
		}
	}
}

// reshard gives the deployment other shards, as a whole.
func (w *written) reshard(next messages.Shards) {
	w.t.Helper()
	w.close(next)
	w.create(next, true)
	w.use(next)
}

// change makes one change of each of these resources.
func (w *written) change(token uint64, resources ...string) {
	w.t.Helper()
	for _, resource := range resources {
		w.commit(w.layout.Of(resource), &journal.Commit{Changes: []*journal.Change{change(resource, token)}})
		w.events = append(w.events, fmt.Sprint(resource, token))
	}
}

func change(resource string, token uint64) *journal.Change {
	return &journal.Change{
		Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{Resource: resource, Token: token, Owner: "o", TtlMs: 1000},
	}
}

func (w *written) commit(shard messages.Shard, c *journal.Commit) {
	w.t.Helper()
	tail := w.tails[shard]
	if c.GetOpened() {
		tail.Epoch++
	}
	tail.Number++
	w.now = w.now.Add(time.Millisecond)
	c.Number, c.Epoch, c.AtMs = tail.Number, tail.Epoch, w.now.UnixMilli()
	w.append(shard, &journal.Record{Body: &journal.Record_Commit{Commit: c}})
}

func (w *written) append(shard messages.Shard, r *journal.Record) {
	w.t.Helper()
	r.SetFormat()
	key, data, err := journal.Encode(r)
	if err == nil {
		_, err = w.js.Publish(w.t.Context(), "$KV."+w.source.Prefix.Bucket(shard)+"."+key, data)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// remove removes the journals of a generation.
func (w *written) remove(of messages.Shards) {
	w.t.Helper()
	for n := range of.Count {
		if err := w.js.DeleteStream(w.t.Context(), "KV_"+w.source.Prefix.Bucket(of.Shard(n))); err != nil {
			w.t.Fatal(err)
		}
	}
}

// watching is a loop under way.
type watching struct {
	t     *testing.T
	steps chan Step
	err   chan error
}

// watch begins a loop of a client that knows these shards.
func (w *written) watch(known messages.Shards, pattern string, o Options) *watching {
	w.t.Helper()
	p, err := messages.ParsePattern(pattern)
	if err != nil {
		w.t.Fatal(err)
	}
	o.Selection = Selection{Pattern: p}
	ctx, cancel := context.WithCancel(w.t.Context())
	l, err := NewLoop(ctx, w.source, known, o)
	x := &watching{w.t, make(chan Step), make(chan error, 1)}
	w.t.Cleanup(cancel)
	if err != nil {
		x.err <- err
		close(x.steps)
		return x
	}
	go func() {
		defer close(x.steps)
		x.err <- l.Run(ctx, func(s Step) bool {
			select {
			case x.steps <- s:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return x
}

// reached is a change that has come, and the position behind it.
type reached struct {
	event string
	at    Position
}

// want checks which changes come next, in any order.
func (x *watching) want(events ...string) (all []reached) {
	x.t.Helper()
	var got []string
	for len(got) < len(events) {
		select {
		case s, ok := <-x.steps:
			if !ok {
				x.t.Fatalf("got %q and %v, want %q", got, <-x.err, events)
			}
			if s.Change == nil {
				continue
			}
			got = append(got, fmt.Sprint(s.Change.GetLease().GetResource(), s.Change.GetLease().GetToken()))
			all = append(all, reached{got[len(got)-1], Advance(s.Before, s.After)})
		case <-time.After(20 * time.Second):
			x.t.Fatalf("got %q, want %q", got, events)
		}
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(events)); !slices.Equal(got, want) {
		x.t.Fatalf("got %q, want %q", got, want)
	}
	return all
}

// bookmark returns the next step, which has to be a bookmark.
func (x *watching) bookmark() Position {
	x.t.Helper()
	s, ok := <-x.steps
	if !ok || s.Change != nil || s.Present != nil {
		x.t.Fatalf("got %+v, want a bookmark", s)
	}
	return s.Before
}

// bookmarkOf waits for a bookmark with this position.
func (x *watching) bookmarkOf(is func(Position) bool) {
	x.t.Helper()
	for p := x.bookmark(); !is(p); p = x.bookmark() {
		x.t.Log("passed", p)
	}
}

// end returns why a loop has ended, which yields nothing more.
func (x *watching) end() error {
	x.t.Helper()
	for s := range x.steps {
		if s.Change != nil {
			x.t.Fatalf("got %v, want the end", s.Change)
		}
	}
	return <-x.err
}

func TestGenerations(t *testing.T) {
	nc, err := nats.Connect(testserver.Build(t).Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	t.Run("Across", func(t *testing.T) { testAcross(t, nc) })
	t.Run("Voided", func(t *testing.T) { testVoided(t, nc) })
	t.Run("Gone", func(t *testing.T) { testGone(t, nc) })
}

func testAcross(t *testing.T, nc *nats.Conn) {
	t.Helper()
	shards := []messages.Shards{{Count: 2}, {Generation: 1, Count: 5}, {Generation: 4, Count: 3}}
	names := []string{"a", "b", "c", "d", "e", "f"}

	// A watch goes on over changes of the number of shards, with each event once and in the order of its resource. So does
	// one that begins at any position of it.
	t.Run("Resumed", func(t *testing.T) {
		w := newWritten(t, nc, "resumed", 2)
		all := w.watch(shards[0], ">", Options{Bookmarks: time.Hour})
		one := w.watch(shards[0], "c", Options{Bookmarks: time.Hour})
		reachedAll, reachedOne := []reached{{at: all.bookmark()}}, []reached{{at: one.bookmark()}}
		for i, next := range shards {
			if i > 0 {
				w.reshard(next)
			}
			token := uint64(i + 1)
			w.change(token, names...)
			reachedAll = append(reachedAll, all.want(w.events[len(w.events)-len(names):]...)...)
			reachedOne = append(reachedOne, one.want(fmt.Sprint("c", token))...)
		}
		w.resume(">", reachedAll, shards...)
		w.resume("c", reachedOne, shards...)
	})

	t.Run("Since", func(t *testing.T) {
		w := newWritten(t, nc, "since", 2)
		begun := w.now.Add(time.Millisecond)
		w.change(1, names...)
		w.reshard(shards[1])
		w.change(2, names...)
		w.create(shards[2], true)
		between := w.now.Add(time.Millisecond)
		w.change(3, names...)
		w.close(shards[2])
		w.use(shards[2])
		for _, since := range []*time.Time{{}, &begun} {
			x := w.watch(shards[2], ">", Options{Since: since, UntilNow: true})
			x.want(w.events...)
			if err := x.end(); !errors.Is(err, ErrLeft) {
				t.Error(err)
			}
		}
		w.watch(shards[2], ">", Options{Since: &between}).want(w.events[len(w.events)-len(names):]...)
	})

	// What is held comes once, and not again as a change, though the journals are copied meanwhile. A bookmark goes over
	// the change, too.
	t.Run("Present", func(t *testing.T) {
		w := newWritten(t, nc, "present", 2)
		w.change(1, names...)
		x := w.watch(shards[0], ">", Options{Present: true, Bookmarks: 10 * time.Millisecond})
		for range names {
			if s := <-x.steps; s.Present == nil {
				t.Fatalf("got %+v, want what is held", s)
			}
		}
		x.bookmark()
		w.reshard(shards[1])
		x.bookmarkOf(func(p Position) bool { return p.generation > 0 })
		w.change(2, "a")
		x.want("a2")
	})
}

// resume checks that a watch which begins at any position of another one yields what is left, whatever shards its client
// knows.
func (w *written) resume(pattern string, all []reached, known ...messages.Shards) {
	w.t.Helper()
	for i, r := range all {
		if p, err := ParsePosition(r.at.String()); err != nil || p.String() != r.at.String() {
			w.t.Fatalf("%v reads as %v, %v", r.at, p, err)
		}
		var left []string
		for _, later := range all[i+1:] {
			left = append(left, later.event)
		}
		for _, shards := range known {
			x := w.watch(shards, pattern, Options{From: r.at, UntilNow: true})
			x.want(left...)
			if err := x.end(); !errors.Is(err, ErrLeft) {
				w.t.Errorf("from %v: %v", r.at, err)
			}
		}
	}
}

// A close that was voided ends no journal, also where a later generation is in use when it is read.
func testVoided(t *testing.T, nc *nats.Conn) {
	t.Helper()
	first, second := messages.Shards{Count: 2}, messages.Shards{Generation: 2, Count: 3}
	voided := messages.Shards{Generation: 1, Count: 4}
	only := messages.Shards{Count: 1} // so that the close is always the last commit that was read of all journals
	for name, left := range map[string]bool{"Removed": false, "Left": true} {
		t.Run(name, func(t *testing.T) {
			w := newWritten(t, nc, messages.Prefix("voided"+name), only.Count)
			x := w.watch(only, ">", Options{Bookmarks: time.Hour})
			all := []reached{{at: x.bookmark()}}
			w.change(1, "a", "b", "c")
			w.close(voided)
			all = append(all, x.want("a1", "b1", "c1")...)
			if left {
				w.create(voided, true)
			}
			w.use(only)
			w.change(2, "a", "b", "c")
			all = append(all, x.want("a2", "b2", "c2")...)
			w.reshard(second)
			w.change(3, "a", "b", "c")
			all = append(all, x.want("a3", "b3", "c3")...)
			w.resume(">", all, only, second)
		})
	}

	// A journal may have been read to its end, and the others not yet.
	t.Run("OneByOne", func(t *testing.T) {
		w := newWritten(t, nc, "onebyone", first.Count)
		w.create(second, true)
		w.says.Store(&second)
		other := w.nameIn(1)
		x := w.watch(first, ">", Options{Bookmarks: 10 * time.Millisecond})
		from := x.bookmark()
		w.closeOne(first.Shard(0), second)
		x.bookmarkOf(func(p Position) bool { return p.String() != from.String() })
		w.change(1, other)
		x.want(other + "1")
		w.closeOne(first.Shard(1), second)
		w.use(second)
		w.change(2, "a")
		x.want("a2")
	})

	// Until it is known whether the next generation is used, nothing is final.
	t.Run("Pending", func(t *testing.T) {
		w := newWritten(t, nc, "pending", first.Count)
		w.change(1, "a", "b")
		w.close(second)
		w.create(second, true)
		x := w.watch(first, ">", Options{Since: new(time.Time), Bookmarks: 20 * time.Millisecond})
		x.bookmark()
		all := x.want("a1", "b1")
		if p := x.bookmark(); p.generation != 0 {
			t.Errorf("at %v though generation 2 is not used yet", p)
		}
		w.use(first)
		w.change(2, "a", "b")
		all = append(all, x.want("a2", "b2")...)
		w.resume(">", all, first)
	})
}

// Where former journals are not there any more, or the next ones do not go back to their beginnings, that is reported,
// with a position to go on from.
func testGone(t *testing.T, nc *nats.Conn) {
	t.Helper()
	first, second, third := messages.Shards{Count: 1}, messages.Shards{Generation: 1, Count: 2},
		messages.Shards{Generation: 2, Count: 3}
	t.Run("Removed", func(t *testing.T) {
		w := newWritten(t, nc, "removed", first.Count)
		w.change(1, "a")
		from := w.watch(first, ">", Options{Since: new(time.Time)}).want("a1")[0].at
		w.reshard(second)
		w.change(2, "a")
		w.remove(first)
		oldest := mustBeGone(t, w.watch(second, ">", Options{From: from}))
		if oldest.generation != 1 {
			t.Errorf("the oldest position is %v", oldest)
		}
		w.watch(second, ">", Options{From: oldest}).want("copied1", "copied1", "a2")
		mustBeGone(t, w.watch(second, ">", Options{Since: new(time.Time)}))
		later := Position{generation: 3, cursors: []Cursor{{}}}
		invalid := (*Error)(nil)
		if err := w.watch(second, ">", Options{From: later}).end(); !errors.As(err, &invalid) || !invalid.Invalid {
			t.Errorf("from a generation that there never was: %v", err)
		}
	})
	t.Run("Compacted", func(t *testing.T) {
		w := newWritten(t, nc, "compacted", first.Count)
		w.change(1, "a")
		from := w.watch(first, ">", Options{Since: new(time.Time)}).want("a1")[0].at
		w.reshard(second)
		w.reshard(third)
		w.change(3, "a")
		shard := second.Of("a")
		stream, err := w.js.Stream(t.Context(), "KV_"+w.source.Prefix.Bucket(shard))
		if err == nil {
			err = stream.Purge(t.Context(), jetstream.WithPurgeSubject(
				"$KV."+w.source.Prefix.Bucket(shard)+"."+journal.CommitKey(leap)))
		}
		if err != nil {
			t.Fatal(err)
		}
		oldest := mustBeGone(t, w.watch(third, "a", Options{From: from}))
		if oldest.generation != 1 {
			t.Errorf("the oldest position is %v", oldest)
		}
		w.watch(third, "a", Options{From: oldest}).want("a3")
	})
}

// mustBeGone returns the oldest position of a watch that ends because something is missing.
func mustBeGone(t *testing.T, x *watching) Position {
	t.Helper()
	gone := (*CompactedError)(nil)
	if err := x.end(); !errors.As(err, &gone) || gone.Oldest.IsZero() || gone.Begins.IsZero() {
		t.Fatalf("got %v, want a CompactedError", err)
	}
	return gone.Oldest
}
