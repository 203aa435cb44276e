package client_test

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// listen receives the messages on a subject beside the service.
func listen(t *testing.T, nc *nats.Conn, subject string, receive nats.MsgHandler) {
	t.Helper()
	stand.Value(nc.Subscribe(subject, receive))(t)
	stand.Must(t, nc.Flush())
}

// contend lets many goroutines lock few resources, so many times each.
func contend(t *testing.T, c *holdfast.Client, times int) {
	t.Helper()
	const goroutines, resources = 64, 16
	var held [resources]atomic.Bool
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for n := range times {
				r := (g + n) % resources
				l, err := c.Acquire(testContext(t), fmt.Sprintf("r%d", r), holdfast.TTL(time.Minute))
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				if held[r].Swap(true) {
					t.Errorf("r%d has two holders", r)
				}
				held[r].Store(false)
				if err := l.Release(testContext(t)); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// What the goroutines of a client ask at the same time goes to a shard in one message.
func TestBatches(t *testing.T) {
	s := newService(t)
	batches, calls := new(atomic.Int64), new(atomic.Int64)
	listen(t, s.Connect(), "holdfast.shard.*.batch", func(m *nats.Msg) {
		all, err := messages.SplitBatch(messages.Protobuf, m.Data)
		if err != nil {
			t.Errorf("a batch that cannot be decoded: %v", err)
		}
		batches.Add(1)
		calls.Add(int64(len(all)))
	})
	contend(t, s.Client(), 50)
	if calls.Load() < 100 {
		t.Errorf("only %d of 6400 requests came in batches, of which there were %d", calls.Load(), batches.Load())
	}
}

// A user who may not send batches sends single requests. NATS refuses no more than the trials, of which the pauses
// double from a second on.
func TestBatchesNotPermitted(t *testing.T) {
	url := startWithUsers(t)
	node := stand.Dial(t, url, nats.UserInfo("node", "x"))
	batches, refused := new(atomic.Int64), new(atomic.Int64)
	listen(t, node, "holdfast.shard.*.batch", func(*nats.Msg) { batches.Add(1) })
	begun := time.Now()
	c := stand.Client(t, stand.Dial(t, url, nats.UserInfo("single", "x"), nats.ErrorHandler(
		func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if strings.Contains(err.Error(), `.batch"`) {
				refused.Add(1)
			}
		})))
	stand.Value(c.Info(t.Context()))(t)
	contend(t, c, 20)
	stand.Must(t, node.Flush())
	if batches.Load() != 0 {
		t.Errorf("%d batches came from a user who may send none", batches.Load())
	}
	if n, trials := refused.Load(), int64(bits.Len(uint(time.Since(begun).Seconds())+1)); n > trials {
		t.Errorf("%d batches were refused, of at most %d trials", n, trials)
	}
}
