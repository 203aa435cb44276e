package client_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// oldDeployment is one of a version that has none of the features, below the prefix "old". Every resource is held
// there.
type oldDeployment struct {
	mu    sync.Mutex
	info  messages.Info
	asked int
}

func newOldDeployment(t *testing.T) *oldDeployment {
	t.Helper()
	nc := stand.Dial(t, url)
	d := &oldDeployment{info: messages.Info{Version: "old", Shards: 1}}
	reply := func(m *nats.Msg, answer proto.Message) {
		data, err := messages.Encode(messages.EncodingOf("", m.Data), answer)
		if err != nil || m.Respond(data) != nil {
			t.Error("no answer was sent")
		}
	}
	for subject, answer := range map[string]func(*nats.Msg){
		"old.info": func(m *nats.Msg) { reply(m, &d.info) },
		"old.shard.>": func(m *nats.Msg) {
			d.asked++
			reply(m, &messages.Reply{Status: messages.Status_HELD, Lease: &messages.Lease{
				Resource: "x", Owner: "them", Token: 7, TtlMs: 1000,
			}})
		},
	} {
		s := stand.Value(nc.Subscribe(subject, func(m *nats.Msg) {
			d.mu.Lock()
			defer d.mu.Unlock()
			answer(m)
		}))(t)
		t.Cleanup(func() { _ = s.Unsubscribe() })
	}
	stand.Must(t, nc.Flush())
	return d
}

// count returns how many requests about resources came.
func (d *oldDeployment) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

// upgrade adds a feature.
func (d *oldDeployment) upgrade(feature string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.info.Features = append(d.info.Features, feature)
}

// A deployment that lacks a feature is not asked for it, and is as soon as it has it.
func TestDeploymentWithoutAFeature(t *testing.T) {
	ctx := testContext(t)
	acquire := func(opts ...holdfast.AcquireOption) func(*holdfast.Client) error {
		return func(c *holdfast.Client) error { return second(c.TryAcquire(ctx, "x", opts...)) }
	}
	for feature, calls := range map[string][]func(*holdfast.Client) error{
		messages.FeatureDelay: {
			acquire(holdfast.Delay(time.Second)), acquire(holdfast.ConfirmLoss()),
			func(c *holdfast.Client) error { return c.Confirm(ctx, "x", 1, "", "") },
			func(c *holdfast.Client) error { return firstError(c.Lost(ctx, "")) },
		},
		messages.FeatureValues: {
			func(c *holdfast.Client) error { return second(c.Campaign(ctx, "x", "value", holdfast.MaxWait(0))) },
		},
		messages.FeatureSharing: {
			acquire(holdfast.Shared()),
			func(c *holdfast.Client) error { return second(c.Get(ctx, "x", holdfast.WithWaiters())) },
			func(c *holdfast.Client) error { return firstError(c.Queues(ctx, "")) },
		},
	} {
		t.Run(feature, func(t *testing.T) {
			old := newOldDeployment(t)
			c := newClient(t, url, holdfast.Prefix("old"))
			for i, call := range calls {
				if err := call(c); !errors.Is(err, holdfast.ErrInvalid) ||
					!strings.Contains(err.Error(), "feature "+feature) || old.count() != 0 {
					t.Errorf("call %d: asked %d times, got %v", i, old.count(), err)
				}
			}
			if s := mustGet(t, c, "x"); !s.Held || len(s.Holders) != 1 || s.Permits != 1 || s.Holders[0].Fence != 7 {
				t.Errorf("got %+v", s)
			}
			old.upgrade(feature)
			if err := calls[0](c); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("after the upgrade: got %v, want ErrHeld", err)
			}
		})
	}
}
