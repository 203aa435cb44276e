package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// followEvery is how often a node looks at the register while a change is under way.
	followEvery = 500 * time.Millisecond
	// coordinatorSilence is the silence after which the coordinator of a change counts as dead: six of its messages are
	// missing.
	coordinatorSilence = 3 * time.Second
	// registerTimeout bounds one look at the register, and tryTimeout the look at all buckets of a generation.
	registerTimeout = 2 * time.Second
	tryTimeout      = 20 * time.Second
)

// follower follows the register of generations, on a goroutine of its own. Messages of a coordinator only have it look:
// the register alone decides. nil follows nothing.
type follower struct {
	node     *Node
	received chan *nats.Msg
	poked    chan struct{}
	ctx      context.Context // ends with the node
	cancel   context.CancelFunc
	running  sync.WaitGroup

	// The fields below belong to the goroutine. watching: it looks again soon, because a change is under way or the last
	// look has failed.
	watching bool
	// coordinator is that of the change under way, heard when it last gave a sign, and closes: it wants the journals
	// closed.
	coordinator string
	heard       lease.Instant
	closes      bool
	// opened are the journals of the generation next, nil if they are not open yet.
	opened *Journals
	next   messages.Shards
}

// offersReshard reports whether the number of shards may change under the node.
func offersReshard(cfg Config) bool {
	return cfg.Register != nil && cfg.Open != nil && cfg.Peers != nil
}

// formerOf returns the generations before the one with which a node starts.
func formerOf(ctx context.Context, cfg Config) ([]messages.Shards, error) {
	if !offersReshard(cfg) {
		return nil, nil
	}
	r, _, err := cfg.Register.Read(ctx)
	if err != nil || r.InUse().Generation != cfg.Generation { // in the latter case the node follows soon
		return nil, err
	}
	return r.Earlier(), nil
}

func newFollower(n *Node) *follower {
	f := &follower{node: n, received: make(chan *nats.Msg, 8), poked: make(chan struct{}, 1)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// receive takes a message of a coordinator. It does not block; another one follows soon.
func (f *follower) receive(m *nats.Msg) {
	if f == nil {
		return
	}
	select {
	case f.received <- m:
	default:
	}
}

// poke has the register looked at.
func (f *follower) poke() {
	if f == nil {
		return
	}
	select {
	case f.poked <- struct{}{}:
	default:
	}
}

// voided is as in [actors.ShardConfig].
func (f *follower) voided(ctx context.Context, generation uint32) error {
	r, _, err := f.read(ctx)
	if err != nil {
		return err
	}
	if !r.IsVoided(generation) {
		f.poke()
		return actors.ErrClosed
	}
	return nil
}

func (f *follower) read(ctx context.Context) (*journal.Register, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	return f.node.cfg.Register.Read(ctx)
}

func (f *follower) start() {
	f.poke()
	f.running.Go(f.run)
}

// stop ends the goroutine, and waits for that.
func (f *follower) stop() {
	if f != nil {
		f.cancel()
		f.running.Wait()
	}
}

func (f *follower) run() {
	again := time.NewTicker(followEvery)
	defer again.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case m := <-f.received:
			f.message(m)
		case <-f.poked:
		case <-again.C:
			if !f.watching {
				continue
			}
		}
		f.look()
	}
}

// message takes in the sign of a coordinator, and answers it if it asks whether the node can follow.
func (f *follower) message(m *nats.Msg) {
	var sign peer.Resharding
	if messages.DecodeReply(messages.Protobuf, m.Data, &sign) != nil {
		return // another sign follows
	}
	f.note(sign.GetCoordinator())
	f.heard, f.closes = f.now(), sign.GetClose()
	if f.node.cfg.Prefix.CheckReply(m.Reply) != nil {
		return
	}
	answer := &peer.Reshardable{Node: f.node.cfg.Name, Generation: f.node.present.Load().Generation}
	if err := f.try(sign.GetCoordinator()); err != nil {
		answer.Refusal = err.Error()
	}
	if data, err := messages.Encode(messages.Protobuf, answer); err == nil {
		_ = m.Respond(data) // without an answer it asks again
	}
	f.heard = f.now() // its later signs have waited meanwhile
}

// note notes who coordinates the change. One that is new has given a sign.
func (f *follower) note(coordinator string) {
	if f.coordinator != coordinator {
		f.coordinator, f.heard, f.closes = coordinator, f.now(), false
	}
}

// try returns an error unless the node can go on to the next generation.
func (f *follower) try(coordinator string) error {
	ctx, cancel := context.WithTimeout(f.ctx, tryTimeout)
	defer cancel()
	r, _, err := f.node.cfg.Register.Read(ctx)
	switch {
	case err != nil:
		return err
	case r.GetReshard().GetCoordinator() != coordinator:
		return errors.New("the register does not have this change")
	}
	g := &generation{Shards: r.Next(), former: append(r.Earlier(), r.InUse())}
	if err := f.node.intake.tenants.fit(g); err != nil {
		return err
	}
	if err := f.open(ctx, r.Next()); err != nil {
		return err
	}
	return f.opened.Try(ctx)
}

// open opens the journals of a generation, unless they are open.
func (f *follower) open(ctx context.Context, next messages.Shards) (err error) {
	if f.opened != nil && f.next == next {
		return nil
	}
	f.next = next
	f.opened, err = f.node.cfg.Open(ctx, next)
	return err
}

// look does what the register says.
func (f *follower) look() {
	n := f.node
	r, revision, err := f.read(f.ctx)
	if err != nil {
		f.watching = true
		n.cfg.Log.Warn("cannot read the register of generations", "error", err)
		return
	}
	g := n.present.Load()
	f.watching = r.GetReshard() != nil || r.InUse().Generation > g.Generation
	if r.GetReshard() != nil {
		f.note(r.GetReshard().GetCoordinator())
	}
	switch {
	case r.InUse().Generation > g.Generation:
		f.moveTo(r, g)
	case r.GetReshard() == nil:
		n.controller.CloseJournals(messages.Shards{})
	case f.now().Sub(f.heard) >= coordinatorSilence:
		f.void(r, revision)
	case f.closes:
		n.controller.CloseJournals(r.Next())
	}
}

// void gives up a change whose coordinator is dead, unless that has finished it.
func (f *follower) void(r *journal.Register, revision uint64) {
	ctx, cancel := context.WithTimeout(f.ctx, registerTimeout)
	defer cancel()
	err := f.node.cfg.Register.Write(ctx, revision, r.Void())
	f.node.cfg.Log.Warn("the change of the number of shards is given up: its coordinator is silent",
		"coordinator", r.GetReshard().GetHost(), "error", err)
	f.poke() // whoever was the first, the register says what holds
}

// moveTo goes on to the generation in use.
func (f *follower) moveTo(r *journal.Register, old *generation) {
	n, began := f.node, f.now()
	ctx, cancel := context.WithTimeout(f.ctx, tryTimeout)
	defer cancel()
	if err := f.open(ctx, r.InUse()); err != nil {
		n.cfg.Log.Error("cannot open the journals of the generation of shards in use", "error", err)
		return
	}
	g := n.transport.divide(r.InUse(), r.Earlier())
	if err := n.endpoints.moveTo(g); err != nil {
		n.cfg.Log.Error("cannot serve the subjects of former generations of shards", "error", err)
		return
	}
	n.intake.tenants.directSubjects.Store(g.directSubjects())
	f.opened.Use()
	n.outbox.generation.Store(g.Generation)
	for _, router := range old.routers {
		router.Move(g.routers)
	}
	n.present.Store(g)
	n.controller.Shift(g.Shards, n.use(g, f.opened))
	f.opened = nil
	n.cfg.Log.Info("the number of shards has changed", "generation", g.Generation, "shards", g.Count,
		"was", old.Count, "took", f.now().Sub(began))
}

func (f *follower) now() lease.Instant { return f.node.cfg.Clock.Now().Instant }
