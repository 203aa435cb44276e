package simnats_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// inBubble runs a test in a bubble of its own. nats.go pools timers, and a timer belongs to its bubble.
func inBubble(t *testing.T, f func(t *testing.T, n *simnats.Network)) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	synctest.Test(t, func(t *testing.T) {
		n := simnats.NewNetwork(simnats.NewBus(1), "a", "b", "c")
		defer n.Close()
		f(t, n)
	})
}

func connect(t *testing.T, n *simnats.Network, process string, servers ...string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(n.Dialer(process, servers...)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, n *simnats.Network) {
		nc := connect(t, n, "service", "a")
		if _, err := nc.Subscribe("echo.*", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		client := connect(t, n, "client", "b")
		for i := range 100 {
			m, err := client.Request("echo.x", []byte(fmt.Sprint(i)), time.Second)
			if err != nil || string(m.Data) != fmt.Sprint(i) {
				t.Fatalf("%v, %v", m, err)
			}
		}
		if _, err := client.Request("nobody", nil, time.Second); err != nats.ErrNoResponders {
			t.Errorf("got %v", err)
		}
		t.Log(time.Now())
		nc.Close()
		client.Close()
	})
}

func TestBucket(t *testing.T) {
	inBubble(t, func(t *testing.T, n *simnats.Network) {
		nc := connect(t, n, "service", "a")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		d, err := jetstream.OpenDeployment(ctx, nc, jetstream.DeploymentConfig{Prefix: "holdfast", Shards: 2, Replicas: 3})
		if err != nil {
			t.Fatal(err)
		}
		b := d.Bucket(0)
		for i := range uint64(5) {
			r := &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: &journal.Commit{Number: i + 1, Epoch: 1}}}
			if err := b.Append(ctx, i, r); err != nil {
				t.Fatal(err)
			}
		}
		last, err := b.Replay(ctx, 0, func(position uint64, r *journal.Record) error {
			t.Log(time.Now(), position, r.Describe())
			return nil
		})
		t.Log(last, err, time.Now())
		if err := b.Purge(ctx, 3, nil); err != nil {
			t.Error(err)
		}
		last, err = b.Replay(ctx, 0, func(position uint64, r *journal.Record) error {
			t.Log(time.Now(), position, r.Describe())
			return nil
		})
		t.Log(last, err, time.Now())
		nc.Close()
	})
}
