package actors

import (
	"log/slog"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// An actor behind an inbox has handled a message when Post returns, and a panic of it goes to its supervisor, which
// replaces it.
func TestInbox(t *testing.T) {
	t.Parallel()
	system := NewSystem(slog.New(slog.DiscardHandler)).system
	defer system.Shutdown()
	var box inbox
	got := make(map[int]int) // what each child got
	children := 0
	child := actor.PropsFromProducer(func() actor.Actor {
		children++
		me := children
		return actor.ReceiveFunc(func(ctx actor.Context) {
			if n, ok := ctx.Message().(int); ok {
				if n == 0 {
					panic("ordered by the test")
				}
				got[me] += n
			}
		})
	}, actor.WithMailbox(func() actor.Mailbox { return &box }))
	handled := make(chan int)
	parent := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return actor.ReceiveFunc(func(ctx actor.Context) {
			switch n := ctx.Message().(type) {
			case *actor.Started:
				ctx.Spawn(child)
			case int:
				before := got[children]
				box.PostUserMessage(n)
				handled <- got[children] - before
			}
		})
	}, actor.WithSupervisor(actor.NewRestartingStrategy())))
	for _, n := range []int{3, 0, 5} {
		system.Root.Send(parent, n)
		if h := <-handled; h != n {
			t.Errorf("%d had been handled as %d when Post returned", n, h)
		}
	}
	if err := system.Root.StopFuture(parent).Wait(); err != nil {
		t.Fatal(err)
	}
	if children != 2 || got[1] != 3 || got[2] != 5 {
		t.Errorf("%d children got %v, want the second one to get 5 after the panic of the first", children, got)
	}
}
