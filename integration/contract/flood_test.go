package contract

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// More than the node can do at once is refused, request by request, and nothing is left behind: each request
// has one answer, whatever the node was busy with.
func TestFlood(t *testing.T) {
	const clients, each, pending, shards = 4, 4_000, 100, 4
	s := stand.Start(t, stand.Config{Shards: shards, Capacity: node.Capacity{Pending: pending}})
	c := &client{t, s.Connect()}
	for name, subject := range map[string]func(key string) string{
		"front": func(key string) string { return "holdfast.acquire." + key },
		"direct": func(key string) string {
			return fmt.Sprintf("holdfast.shard.%d.acquire.%s", messages.ShardOf(key, shards), key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &client{t, c.nc}
			before := c.stats()
			f := &flood{TB: t, missing: clients * each, all: make(chan struct{})}
			var sending sync.WaitGroup
			for n := range clients {
				nc := s.Connect()
				sending.Go(func() {
					f.send(nc, each,
						func(i int) string { return subject(fmt.Sprintf("%s.%d.%d", name, n, i)) })
				})
			}
			sending.Wait()
			select {
			case <-f.all:
			case <-t.Context().Done():
			case <-time.After(floodPatience):
				t.Fatalf("%d requests have no answer; the statistics say %v", f.left(), c.stats())
			}
			granted, refused := f.counts[messages.Status_GRANTED].Load(), f.counts[messages.Status_OVERLOADED].Load()
			if granted+refused != clients*each || granted == 0 || refused == 0 {
				t.Errorf("of %d requests %d were granted and %d refused as too many", clients*each, granted, refused)
			}
			after := c.stats()
			if after["pending"] != 0 || after["unread"] != 0 || after["unsent"] != 0 {
				t.Errorf("afterwards the statistics say %v", after)
			}
			if held := int64(after["held"] - before["held"]); held != granted {
				t.Errorf("%d are held, and %d were granted", held, granted)
			}
		})
	}
}

// floodPatience bounds how long the answers to a flood may take, also beside other work.
const floodPatience = 2 * time.Minute

// flood counts the answers to many requests.
type flood struct {
	testing.TB
	counts [16]atomic.Int64

	mu      sync.Mutex
	missing int
	all     chan struct{} // closed when none is missing
}

func (f *flood) send(nc *nats.Conn, requests int, subject func(int) string) {
	inbox := nats.NewInbox()
	sub, err := nc.Subscribe(inbox, f.answered)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	for i := 0; i < requests && err == nil; i++ {
		err = nc.PublishMsg(&nats.Msg{Subject: subject(i), Reply: inbox,
			Data: []byte(`{"owner":"a","ttl_ms":3600000}`)})
	}
	if err != nil {
		f.Error(err)
	}
}

func (f *flood) answered(m *nats.Msg) {
	r := &messages.Reply{}
	if err := messages.DecodeReply(messages.JSON, m.Data, r); err != nil {
		f.Error(err)
	}
	f.counts[r.GetStatus()].Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing--; f.missing == 0 {
		close(f.all)
	}
}

// left returns how many answers are missing.
func (f *flood) left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missing
}

// stats are the node's numbers.
func (c *client) stats() map[string]float64 {
	c.Helper()
	var stats struct {
		Endpoints []struct{ Data map[string]any }
	}
	c.json("$SRV.STATS.holdfast", &stats)
	numbers := make(map[string]float64)
	for _, e := range stats.Endpoints {
		for name, value := range e.Data {
			if n, ok := value.(float64); ok {
				numbers[name] = n
			}
		}
	}
	return numbers
}

// The node's statistics count requests at its direct endpoints too, and say the answers once.
func TestStatistics(t *testing.T) {
	_, c := start(t)
	c.want(messages.Status_FREE, 0, get, ``)
	c.want(messages.Status_FREE, 0, direct("get", "orders.42"), ``)
	var stats struct {
		Endpoints []struct {
			Name        string          `json:"name"`
			NumRequests int             `json:"num_requests"`
			Data        json.RawMessage `json:"data"`
		}
	}
	c.json("$SRV.STATS.holdfast", &stats)
	data := 0
	for _, e := range stats.Endpoints {
		if len(e.Data) > 0 {
			data++
		}
		if want := map[string]int{"get": 1, "direct": 1}[e.Name]; e.NumRequests != want {
			t.Errorf("%d requests at %s, want %d", e.NumRequests, e.Name, want)
		}
	}
	if data != 1 {
		t.Errorf("the answers are counted %d times", data)
	}
}

func direct(op, key string) string {
	return fmt.Sprintf("holdfast.shard.%d.%s.%s", messages.ShardOf(key, 4), op, key)
}
