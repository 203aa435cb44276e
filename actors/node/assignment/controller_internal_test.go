package assignment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	worldShards = 8
	// room is how many requests for a shard may wait at a process.
	room = 100
	// peace is many times what any rule of the controller waits for but backoffMax.
	peace = time.Minute
)

// world is controllers with real shards over journals in memory, in a bubble, with a network that can be cut.
type world struct {
	*testing.T
	journals  []*journaltest.Memory
	processes []*process

	mu sync.Mutex
	// deaf has the pairs of names of which the first does not receive the second.
	deaf map[[2]string]bool
	// broken is a process that cannot open anything.
	broken string
	// hung are the processes whose appends are not confirmed until the channel is closed.
	hung map[string]chan struct{}
	// pace is how long a record takes to be read, or 0; stuck is a process that reads only the first ones.
	pace  time.Duration
	stuck string
	// transferTime is how long the leadership of a bucket takes to move, during which no node may open the shard;
	// transferred is how many each node got.
	transferTime time.Duration
	transferred  map[string]int
}

// process is one of the world.
type process struct {
	*Controller
	w      *world
	name   string
	system *actors.System
	cancel context.CancelFunc
	leads  map[uint32]bool
	audit  *bytes.Buffer // of the controller's goroutine

	mu        sync.Mutex
	endpoints map[uint32]bool // that are open
	opened    int
	jammed    int // how many times an endpoint cannot be opened
	refused   int
}

func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, deaf: make(map[[2]string]bool), hung: make(map[string]chan struct{}),
			transferred: make(map[string]int)}
		for range worldShards {
			w.journals = append(w.journals, journaltest.NewMemory())
		}
		defer w.end()
		test(w)
	})
}

func (w *world) end() {
	for _, x := range slices.Clone(w.processes) {
		x.kill()
	}
	w.pass(3 * time.Second) // Proto.Actor counts dead letters for one
}

// start starts a process.
func (w *world) start(name string) *process {
	x := &process{w: w, name: name, system: actors.NewSystem(slog.New(slog.DiscardHandler)),
		leads: make(map[uint32]bool), endpoints: make(map[uint32]bool), audit: &bytes.Buffer{}}
	clock := actors.SystemClock()
	var routers routing.Table
	for shard := range uint32(worldShards) {
		routers = append(routers, routing.NewRouter(messages.Shard{Number: shard}, room, clock, x))
	}
	x.Controller = New(Config{
		Node: &peer.Announcement{
			Node: name, Incarnation: rand.Uint64() | 1, Shards: worldShards, Limits: messages.DefaultLimits(),
		},
		Clock: clock, Log: slog.New(slog.NewTextHandler(w.Output(), nil)).With("at", name),
		Audit:              slog.New(slog.NewTextHandler(x.audit, nil)),
		Leads:              func(shard uint32) bool { w.mu.Lock(); defer w.mu.Unlock(); return x.leads[shard] },
		TransferLeadership: w.transfer,
		Generation: Generation{Routers: routers, Endpoint: x.endpoint, StartShard: func(shard uint32, changed func()) *actors.Shard {
			x.mu.Lock()
			x.opened++
			x.mu.Unlock()
			memory := w.journals[shard].Rival()
			memory.Before(func(ctx context.Context, _ *journal.Record) error { return w.check(ctx, name) })
			return x.system.StartShard(actors.ShardConfig{
				Shard: shard, Node: name, Journal: slow{memory, w, name}, Clock: clock, Outbox: x,
				Log: slog.New(slog.DiscardHandler), Changed: changed,
				Pass: func(r *actors.Request) {
					if e, ok, err := routing.FromRequest(messages.Shard{Number: shard}, r); ok && err == nil {
						routers[shard].Return(e)
					}
				},
			})
		}},
		Stopped:  func(*actors.Shard) {},
		Announce: func(a *peer.Announcement) { w.carry(name, proto.CloneOf(a)) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	w.mu.Lock()
	w.processes = append(w.processes, x)
	w.mu.Unlock()
	go x.run(ctx)
	return x
}

// slow is a journal whose records take time to be read.
type slow struct {
	*journaltest.Memory
	w    *world
	name string
}

func (s slow) Replay(ctx context.Context, after uint64, apply func(uint64, *journal.Record) error) (uint64, error) {
	return s.Memory.Replay(ctx, after, func(position uint64, r *journal.Record) error {
		s.w.mu.Lock()
		pace := s.w.pace
		if s.w.stuck == s.name && position > 1 {
			pace = time.Hour
		}
		s.w.mu.Unlock()
		select {
		case <-time.After(pace):
			return apply(position, r)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// fill puts a number of commits into every journal.
func (w *world) fill(commits uint64) {
	for _, memory := range w.journals {
		for n := range commits {
			c := &journal.Commit{Epoch: 1, Number: n + 1, Writer: &journal.Writer{Node: "before"}, Opened: n == 0}
			if err := memory.Store(n, &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: c}}); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// check returns an error if a process cannot write, and waits while it gets no confirmation.
func (w *world) check(ctx context.Context, name string) error {
	w.mu.Lock()
	broken, hung := w.broken == name, w.hung[name]
	w.mu.Unlock()
	if broken {
		return journal.ErrNotStored
	}
	if hung == nil {
		return nil
	}
	select {
	case <-hung:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", journal.ErrUnknown, ctx.Err())
	}
}

// hang lets appends of these processes wait until the returned function is called.
func (w *world) hang(names ...string) (heal func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	healed := make(chan struct{})
	for _, name := range names {
		w.hung[name] = healed
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		clear(w.hung)
		close(healed)
	}
}

// commit lets each open shard append something.
func (w *world) commit() {
	for _, x := range w.processes {
		for _, r := range x.cfg.Routers {
			if s := r.Local(); s != nil {
				s.Barrier()
			}
		}
	}
}

// endpoint keeps account of the direct endpoints.
func (x *process) endpoint(shard uint32, open bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.endpoints[shard] == open {
		x.w.Errorf("%s: the endpoint of shard %d was already open: %v", x.name, shard, open)
	}
	if open && x.jammed > 0 {
		x.jammed--
		return false
	}
	x.endpoints[shard] = open
	return true
}

// endpoints returns the processes that have the endpoint of each shard open.
func (w *world) endpoints() [worldShards][]string {
	synctest.Wait()
	var open [worldShards][]string
	for _, x := range w.processes {
		x.mu.Lock()
		for shard := range open {
			if x.endpoints[uint32(shard)] {
				open[shard] = append(open[shard], x.name)
			}
		}
		x.mu.Unlock()
	}
	return open
}

// transfer takes its time, during which no node may open the shard.
func (w *world) transfer(_ context.Context, shard uint32, to string) error {
	<-time.After(w.transferTime)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.transferred[to]++
	for _, x := range w.processes {
		if s := x.cfg.Routers[shard].Local(); w.transferTime > 0 && s != nil && s.State() <= actors.Open {
			w.Errorf("%s has opened shard %d before the leadership of its bucket was there", x.name, shard)
		}
	}
	return nil
}

// carry brings an announcement to all that receive its sender, in order, as NATS does.
func (w *world) carry(from string, a *peer.Announcement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.processes {
		if !w.deaf[[2]string{x.name, from}] {
			x.Receive(a)
		}
	}
}

// cut has a not receive from b, or receive again.
func (w *world) cut(a, b *process, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf[[2]string{a.name, b.name}] = is
}

// Answer implements actors.Outbox.
func (x *process) Answer(uint32, []lease.Answer) {}

// Deliver implements routing.Transport.
func (x *process) Deliver(s *actors.Shard, es []routing.Envelope) (left []routing.Envelope) {
	for i, e := range es {
		_, err := s.SendAll([]actors.Request{{Resource: e.Resource,
			Event: lease.Get{Request: &messages.GetRequest{}, From: e.ReplyTo}}})
		switch {
		case errors.Is(err, actors.ErrEnded):
			return es[i:]
		case err != nil:
			x.Refuse(e, err)
		}
	}
	return nil
}

// Forward implements routing.Transport.
func (x *process) Forward(to uint64, e routing.Envelope) {
	for _, other := range x.w.processes {
		if other.view.self() == to {
			e.Hops++
			time.AfterFunc(time.Millisecond, func() { other.cfg.Routers[0].Route(e) })
		}
	}
}

// Refuse implements routing.Transport.
func (x *process) Refuse(routing.Envelope, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refused++
}

// kill ends a process without an announcement.
func (x *process) kill() {
	if x.cancel == nil {
		return
	}
	x.cancel()
	<-x.done
	for _, s := range x.Shards() {
		_ = s.Close(context.Background())
	}
	x.system.Close()
	x.cancel = nil
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	x.w.processes = slices.DeleteFunc(slices.Clone(x.w.processes), func(other *process) bool { return other == x })
}

// shutDown ends a process as SIGTERM does.
func (x *process) shutDown() {
	close(x.leave)
	<-x.done
	x.kill()
}

func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// openings counts them in all processes.
func (w *world) openings() int {
	n := 0
	for _, x := range w.processes {
		n += x.openings()
	}
	return n
}

// openings counts them in the process.
func (x *process) openings() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened
}

// owners returns the processes that have each shard open.
func (w *world) owners() [worldShards][]string {
	synctest.Wait()
	var owners [worldShards][]string
	for _, x := range w.processes {
		for shard, r := range x.cfg.Routers {
			if s := r.Local(); s != nil && s.State() == actors.Open {
				owners[shard] = append(owners[shard], x.name)
			}
		}
	}
	return owners
}

// settled checks that each shard has one owner, and that nothing moves any more.
func (w *world) settled(within time.Duration) {
	w.Helper()
	w.pass(within)
	before := w.owners()
	for shard, at := range before {
		if len(at) != 1 {
			w.Fatalf("shard %d is open at %v", shard, at)
		}
	}
	openings := w.openings()
	w.pass(peace)
	if after := w.owners(); fmt.Sprint(after) != fmt.Sprint(before) || w.openings() != openings {
		w.Fatalf("shards move in peace: %v became %v, with %d openings", before, after, w.openings()-openings)
	}
	if endpoints := w.endpoints(); fmt.Sprint(endpoints) != fmt.Sprint(before) {
		w.Fatalf("endpoints are open at %v, and shards at %v", endpoints, before)
	}
}

// fair checks that no process has two shards more than another.
func (w *world) fair() {
	w.Helper()
	loads := make(map[string]int)
	for _, x := range w.processes {
		loads[x.name] = 0
	}
	for _, at := range w.owners() {
		loads[at[0]]++
	}
	for name, n := range loads {
		if n < worldShards/len(loads) || n > (worldShards+len(loads)-1)/len(loads) {
			w.Errorf("%s has %d of %d shards among %d nodes", name, n, worldShards, len(loads))
		}
	}
}

func TestNodesComeAndGo(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.start("a")
		w.settled(2 * time.Second)
		b, c := w.start("b"), w.start("c")
		w.settled(10 * time.Second)
		w.fair()
		a.shutDown()
		w.settled(100 * time.Millisecond) // no silence is waited for
		w.fair()
		b.kill()
		w.settled(silenceLimit + 100*time.Millisecond)
		w.start("a")
		w.settled(10 * time.Second)
		w.fair()
		_ = c
	})
}

// At whatever time a node dies, and the others look, its shards are taken over when it has been silent for as long as
// it may, and no later.
func TestDeadAreMissedInTime(t *testing.T) {
	for phase := range 10 {
		inWorld(t, func(w *world) {
			w.start("a")
			w.pass(announceEvery / 3)
			b := w.start("b")
			w.settled(10 * time.Second)
			w.pass(time.Duration(phase) * announceEvery / 10)
			b.kill()
			w.settled(silenceLimit + time.Millisecond)
		})
	}
}

// The direct endpoint of a dead owner's shard has no responder until the owner is in doubt, and no longer.
func TestEndpointIsOpenOnceOwnerIsDoubtful(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start("a")
		b, c := w.start("b"), w.start("c")
		w.settled(10 * time.Second)
		b.kill()
		w.pass(suspectAfter + time.Millisecond)
		for shard, at := range w.endpoints() {
			if len(at) == 0 {
				t.Errorf("the endpoint of shard %d is open nowhere", shard)
			}
		}
		w.settled(silenceLimit - suspectAfter + 100*time.Millisecond)
		c.kill() // only the last one is next in line
		w.pass(suspectAfter + time.Millisecond)
		for shard, at := range w.endpoints() {
			if len(at) != 1 {
				t.Errorf("the endpoint of shard %d is open at %v", shard, at)
			}
		}
	})
}

// The leadership of a bucket moves to the successor before that one opens the shard. A node that was killed, or is the
// last, transfers none.
func TestLeadershipIsTransferred(t *testing.T) {
	inWorld(t, func(w *world) {
		w.transferTime = 50 * time.Millisecond
		a := w.start("a")
		w.settled(2 * time.Second)
		b := w.start("b")
		w.settled(10 * time.Second)
		if want := map[string]int{"b": worldShards / 2}; !maps.Equal(w.transferred, want) {
			t.Errorf("transferred to %v, want %v", w.transferred, want)
		}
		b.shutDown()
		w.settled(200 * time.Millisecond)
		if want := map[string]int{"a": worldShards / 2, "b": worldShards / 2}; !maps.Equal(w.transferred, want) {
			t.Errorf("transferred to %v, want %v", w.transferred, want)
		}
		clear(w.transferred)
		a.shutDown()
		if len(w.transferred) != 0 {
			t.Errorf("the last node has transferred leaderships to %v", w.transferred)
		}
	})
}

// All at once, as after a power cut.
func TestNodesStartTogether(t *testing.T) {
	inWorld(t, func(w *world) {
		for i := range 5 {
			w.start(fmt.Sprint("n", i))
		}
		w.settled(10 * time.Second)
		w.fair()
	})
}

// A node that does not receive another takes its shards, and the other does not take them back. A node that receives no
// other does not take shards for ever.
func TestDeafness(t *testing.T) {
	for _, pairs := range [][][2]int{{{0, 1}}, {{1, 0}}, {{0, 1}, {0, 2}}, {{1, 0}, {2, 0}}} {
		t.Run(fmt.Sprint(pairs), func(t *testing.T) {
			inWorld(t, func(w *world) {
				nodes := []*process{w.start("a"), w.start("b"), w.start("c")}
				w.settled(10 * time.Second)
				for _, p := range pairs {
					w.cut(nodes[p[0]], nodes[p[1]], true)
				}
				w.settled(30 * time.Second)
				for _, p := range pairs {
					w.cut(nodes[p[0]], nodes[p[1]], false)
				}
				w.settled(10 * time.Second)
				w.fair()
			})
		})
	}
}

// Where no node can know that a shard has an owner, or nodes receive each other in a ring, they take it from one
// another: ever more rarely, and no longer when they receive again.
func TestHopelessDeafness(t *testing.T) {
	for _, pairs := range [][][2]int{{{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}}, {{0, 1}, {1, 2}}} {
		t.Run(fmt.Sprint(pairs), func(t *testing.T) {
			inWorld(t, func(w *world) {
				nodes := []*process{w.start("a"), w.start("b"), w.start("c")}
				w.settled(10 * time.Second)
				for _, p := range pairs {
					w.cut(nodes[p[0]], nodes[p[1]], true)
				}
				w.inUse(backoffMax)
				before := w.openings()
				const watched = 2 * backoffMax
				w.inUse(watched)
				n, most := w.openings()-before, worldShards*len(nodes)*2*int(watched/backoffMax)
				t.Logf("%d openings in %v; the shards are at %v", n, watched, w.owners())
				if n > most {
					t.Errorf("%d openings in %v, want at most %d", n, watched, most)
				}
				for _, p := range pairs {
					w.cut(nodes[p[0]], nodes[p[1]], false)
				}
				w.settled(backoffMax + 10*time.Second)
				w.fair()
			})
		})
	}
}

// inUse lets time pass while each shard verifies its ownership every ten seconds, as one that is in use does: an owner
// that was deposed learns so.
func (w *world) inUse(d time.Duration) {
	for range int(d / (10 * time.Second)) {
		for _, x := range w.processes {
			for _, s := range x.cfg.Routers.Local() {
				s.Barrier()
			}
		}
		w.pass(10 * time.Second)
	}
}

// A node that joins and falls silent again and again gets no shard.
func TestFlapping(t *testing.T) {
	inWorld(t, func(w *world) {
		a, b, c := w.start("a"), w.start("b"), w.start("c")
		w.settled(10 * time.Second)
		for _, x := range []*process{a, b} {
			w.cut(x, c, true)
		}
		w.settled(10 * time.Second)
		before := w.openings()
		for range 30 { // received for two seconds in five
			for _, x := range []*process{a, b} {
				w.cut(x, c, false)
			}
			w.pass(2 * time.Second)
			for _, x := range []*process{a, b} {
				w.cut(x, c, true)
			}
			w.pass(3 * time.Second)
		}
		if n := w.openings() - before; n > worldShards {
			t.Errorf("%d openings while a node came and went", n)
		}
	})
}

func TestOneOfTwoNamesakesStays(t *testing.T) {
	inWorld(t, func(w *world) {
		first := w.start("a")
		w.settled(2 * time.Second)
		second := w.start("a")
		w.pass(2 * time.Second)
		if first.isDone() || !second.isDone() || second.err == nil {
			t.Fatalf("the first is over: %v, the second: %v", first.isDone(), second.isDone())
		}
		second.kill()
		first.kill()
		x, y := w.start("b"), w.start("b")
		w.pass(2 * time.Second)
		if x.isDone() == y.isDone() {
			t.Errorf("two at once: over are %v and %v", x.isDone(), y.isDone())
		}
	})
}

func (x *process) isDone() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// A shard follows the leadership of its bucket, if that lasts and the load allows it.
func TestShardFollowsLeader(t *testing.T) {
	inWorld(t, func(w *world) {
		a, b := w.start("a"), w.start("b")
		w.settled(10 * time.Second)
		var led uint32
		for shard, at := range w.owners() {
			if at[0] == "a" {
				led = uint32(shard)
			}
		}
		before := w.openings()
		for range 20 { // a leadership that wanders moves nothing
			w.lead(b, led, true)
			w.pass(leadAfter / 2)
			w.lead(b, led, false)
			w.pass(time.Second)
		}
		if w.openings() != before {
			t.Errorf("%d openings because of a leadership that wanders", w.openings()-before)
		}
		w.lead(b, led, true)
		w.settled(leadAfter + 2*time.Second)
		if at := w.owners()[led]; at[0] != "b" {
			t.Errorf("shard %d is at %s", led, at[0])
		}
		w.fair()
		for shard := range uint32(worldShards) {
			w.lead(a, shard, true)
			w.lead(b, shard, false)
		}
		w.settled(leadAfter + 2*time.Second)
		w.fair()
	})
}

func (w *world) lead(x *process, shard uint32, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.leads[shard] = is
}

// A node that cannot open a shard leaves it to another, and gets it back when it can.
func TestFailingNode(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.start("a")
		w.settled(2 * time.Second)
		w.mu.Lock()
		w.broken = "b"
		w.mu.Unlock()
		b := w.start("b")
		w.pass(settleAfter + openTimeout + 5*time.Second)
		for shard, at := range w.owners() {
			if !slices.Equal(at, []string{a.name}) {
				t.Errorf("shard %d is open at %v, want a, as b cannot open any", shard, at)
			}
		}
		w.mu.Lock()
		w.broken = ""
		w.mu.Unlock()
		w.settled(failingFor + openTimeout + 10*time.Second)
		w.fair()
		_ = b
	})
}

// A refusal says why a shard could not be opened, until the shard has an owner.
func TestRefusalSaysWhyAShardIsNotOpen(t *testing.T) {
	inWorld(t, func(w *world) {
		w.broken = "a"
		a := w.start("a")
		w.pass(listenFor + 2*time.Second)
		if err := a.cfg.Routers[0].NoOwner(); !strings.Contains(err.Error(), "shard 0 cannot be opened: ") {
			t.Errorf("the refusal is %q", err)
		}
		w.start("b")
		w.pass(settleAfter + openTimeout + 5*time.Second)
		if err := a.cfg.Routers[0].NoOwner(); !strings.Contains(err.Error(), "has no owner just now") {
			t.Errorf("with an owner, the refusal is still %q", err)
		}
	})
}

// Requests that come while the shard has no owner wait, and are refused when that lasts.
func TestRequestsWaitForAnOwner(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.start("a")
		get := routing.Envelope{Operation: messages.OpGet, Key: "k", Resource: "k"}
		r := a.cfg.Routers[0]
		for range room {
			r.Route(get)
		}
		if a.refused != 0 {
			t.Fatalf("%d were refused, although there is room for all", a.refused)
		}
		r.Route(get)
		if a.refused != 1 {
			t.Errorf("%d were refused, want 1: more may wait than there is room for", a.refused)
		}
		w.pass(2 * time.Second)
		if n := r.Waiting(); n != 0 || a.refused != 1 {
			t.Errorf("%d wait and %d were refused, although the shard is open", n, a.refused)
		}
		b := w.start("b") // listens, and does not open anything
		w.cut(b, a, true)
		r = b.cfg.Routers[0]
		r.SetOwner(nil, 0)
		r.Route(get)
		r.Expire(0)
		if b.refused != 1 {
			t.Errorf("%d were refused, want 1", b.refused)
		}
	})
}

// A shard that takes a minute to read is opened by the first node that begins, and no other one begins
// meanwhile.
func TestShardThatTakesLongToRead(t *testing.T) {
	inWorld(t, func(w *world) {
		const minute = 600
		w.fill(minute)
		w.pace = time.Minute / minute
		for _, name := range []string{"a", "b", "c"} {
			w.start(name)
		}
		w.settled(listenFor + time.Minute + 5*time.Second)
		w.fair()
		for shard, journal := range w.journals {
			if n := journal.Last(); n != minute+1 {
				t.Errorf("shard %d was opened %d times", shard, n-minute)
			}
		}
	})
}

// An opening without progress is given up in time, however long others take.
func TestOpeningWithoutProgressIsGivenUp(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(300)
		w.pace, w.stuck = 20*time.Millisecond, "b"
		for _, name := range []string{"a", "b", "c"} {
			w.start(name)
		}
		w.pass(listenFor + openTimeout + 20*time.Second)
		for shard, at := range w.owners() {
			if len(at) != 1 || at[0] == "b" {
				t.Errorf("shard %d is open at %v", shard, at)
			}
		}
	})
}

// An owner that gets no confirmations, though it is received, gives its shards up if another node commits. The others
// need not be busy, and the shards do not come back in short order while it still cannot commit.
func TestStalledOwnerIsReplaced(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start("a")
		b := w.start("b")
		w.start("c")
		w.settled(10 * time.Second)
		heal := w.hang("b")
		w.commit() // that of the others no longer proves anything when b has waited for long enough
		w.pass(stalledAfter + outdoneLimit + handOverLimit + 2*time.Second)
		for shard, at := range w.owners() {
			if len(at) != 1 || at[0] == "b" {
				t.Errorf("shard %d is open at %v", shard, at)
			}
		}
		before := b.openings()
		w.pass(20 * time.Minute)
		if n := b.openings() - before; n > 6*worldShards {
			t.Errorf("in 20 minutes a node that cannot commit has tried %d times to open shards", n)
		}
		heal()
		w.pass(backoffMax)
		w.settled(time.Minute)
		w.fair()
	})
}

// While no node gets confirmations, and if one gets none for a short while, owners keep their shards.
func TestOwnersStayWhenNothingIsConfirmed(t *testing.T) {
	for name, test := range map[string]struct {
		hung  []string
		lasts time.Duration
	}{
		"all": {[]string{"a", "b", "c"}, 10 * time.Minute},
		"one": {[]string{"b"}, stalledAfter + outdoneLimit - time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				for _, name := range []string{"a", "b", "c"} {
					w.start(name)
				}
				w.settled(10 * time.Second)
				w.commit() // an owner that was deposed in the first moment learns so
				w.settled(10 * time.Second)
				before, openings := w.owners(), w.openings()
				heal := w.hang(test.hung...)
				w.commit()
				w.pass(test.lasts)
				heal()
				w.settled(0)
				if after := w.owners(); fmt.Sprint(after) != fmt.Sprint(before) || w.openings() != openings {
					t.Errorf("%v became %v", before, after)
				}
			})
		})
	}
}

// The shards of a node that leaves go to an established node, and not to one that was started just before, however
// long that one takes to open a shard.
func TestShardsGoToAnEstablishedNode(t *testing.T) {
	inWorld(t, func(w *world) {
		a, b := w.start("a"), w.start("b")
		w.start("c")
		w.settled(10 * time.Second)
		w.fair()
		b.kill()
		w.settled(silenceLimit + 100*time.Millisecond)
		w.mu.Lock()
		w.stuck = "b"
		w.mu.Unlock()
		again := w.start("b")
		w.pass(2600 * time.Millisecond)
		a.shutDown()
		w.pass(200 * time.Millisecond)
		if again.opened > 0 {
			t.Errorf("a node that does not count yet has begun to open %d shards", again.opened)
		}
		for shard, at := range w.owners() {
			if !slices.Equal(at, []string{"c"}) {
				t.Errorf("shard %d is open at %v", shard, at)
			}
		}
	})
}

// An endpoint that could not be opened does not count as open, and is tried again.
func TestEndpointIsTriedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.start("a")
		a.mu.Lock()
		a.jammed = 2 * worldShards
		a.mu.Unlock()
		w.settled(10 * time.Second)
	})
}

// However far apart nodes start, within the time that they listen, each shard is opened once: by the node that keeps
// it. The buckets are led by others at first, and later by the owners.
func TestStartSettlesAtOnce(t *testing.T) {
	for _, apart := range []time.Duration{0, announceEvery / 5, announceEvery / 2, announceEvery,
		listenFor - time.Millisecond} {
		t.Run(apart.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.start("n1")
				w.pass(apart / 2)
				w.start("n2")
				w.pass(apart - apart/2)
				w.start("n3")
				for shard := range uint32(worldShards) {
					w.lead(w.processes[shard%2], shard, true)
				}
				w.pass(10 * time.Second)
				for shard, at := range w.owners() {
					for _, x := range w.processes {
						w.lead(x, uint32(shard), slices.Equal(at, []string{x.name}))
					}
				}
				w.settled(leadAfter)
				w.fair()
				if n := w.openings(); n != worldShards {
					t.Errorf("%d openings of %d shards", n, worldShards)
				}
			})
		})
	}
}
