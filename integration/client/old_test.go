package client_test

import (
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

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
			reply(m, &messages.Reply{Status: messages.Status_HELD, Lease: leaseOf("x")})
		},
	} {
		s, err := nc.Subscribe(subject, func(m *nats.Msg) {
			d.mu.Lock()
			defer d.mu.Unlock()
			answer(m)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Unsubscribe() })
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
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
