package watch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
)

// names are what the load locks: few enough that its workers meet, in several shards, levels and
// alphabets.
var names = func() (all []string) {
	for i := range 12 {
		all = append(all, fmt.Sprintf("hot.%d", i), fmt.Sprintf("cold.deep.%d", i), fmt.Sprintf("näme %d:*", i))
	}
	return all
}()

// load is some workers that lock at random.
type load struct {
	stop func()
	work sync.WaitGroup
}

// startLoad starts workers, each with a connection of its own, that go on through whatever happens to the
// service until the load is ended.
func startLoad(t *testing.T, url string, workers int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{stop: cancel}
	t.Cleanup(l.end)
	for i := range workers {
		w := &worker{nc: connect(t, url), owner: fmt.Sprint("worker-", i), random: rand.New(rand.NewPCG(uint64(i), 17))}
		l.work.Go(func() {
			for ctx.Err() == nil {
				w.lockOnce(ctx)
			}
		})
	}
	return l
}

// end stops the workers. What they hold runs out.
func (l *load) end() {
	l.stop()
	l.work.Wait()
}

// worker asks as any NATS client does.
type worker struct {
	nc     *nats.Conn
	owner  string
	random *rand.Rand
}

// lockOnce takes a lock if it can, and ends it in one of the ways there are. That a service which is
// killed gives no answer does not matter: what really happened, the journal tells.
func (w *worker) lockOnce(ctx context.Context) {
	name := names[w.random.IntN(len(names))]
	ttl := 100 + w.random.Uint32N(900)
	acquire := &messages.AcquireRequest{Owner: w.owner, TtlMs: ttl, WaitMs: w.random.Uint32N(2) * ttl / 4}
	if w.random.IntN(8) == 0 {
		acquire.Durability = messages.Durability_EPHEMERAL // reserves tokens, and makes no events
	}
	granted := w.ask(ctx, messages.OpAcquire, name, acquire)
	if granted.GetStatus() != messages.Status_GRANTED {
		return
	}
	token := granted.GetLease().GetToken()
	for range w.random.IntN(3) {
		w.ask(ctx, messages.OpExtend, name, &messages.ExtendRequest{Owner: w.owner, Token: token, TtlMs: ttl})
	}
	switch w.random.IntN(5) {
	case 0:
		w.ask(ctx, messages.OpBreak, name, &messages.BreakRequest{Token: token, Reason: "at random"})
	case 1: // let it run out
	default:
		w.ask(ctx, messages.OpRelease, name, &messages.ReleaseRequest{Owner: w.owner, Token: token})
	}
}

// ask returns nil if there is no answer.
func (w *worker) ask(ctx context.Context, op messages.Operation, resource string, m proto.Message) *messages.Reply {
	key, err := messages.EncodeKey(resource)
	if err != nil {
		panic(err)
	}
	payload, err := messages.Encode(messages.Protobuf, m)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answer, err := w.nc.RequestWithContext(ctx, messages.DefaultPrefix.Operation(op, key), payload)
	if err != nil {
		return nil
	}
	var r messages.Reply
	if messages.DecodeReply(messages.Protobuf, answer.Data, &r) != nil {
		return nil
	}
	return &r
}

// connect returns a connection that comes back quickly and for ever, and ends with the test.
func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url,
		nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0), nats.RetryOnFailedConnect(true),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the tests look themselves
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// client returns a client that ends with the test.
func client(t *testing.T, url string, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	c, err := holdfast.New(connect(t, url), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		cancel() // nobody minds what is still held
		_ = c.Close(ctx)
	})
	return c
}
