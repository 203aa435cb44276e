package simnats_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
	buckets "github.com/holdfast-io/holdfast/jetstream"
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

// A request is answered, also between servers, and one that nobody serves is refused at once.
func TestRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, n *simnats.Network) {
		t.Helper()
		service, client := connect(t, n, "service", "a"), connect(t, n, "client", "b")
		defer service.Close()
		defer client.Close()
		if _, err := service.Subscribe("echo.*", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
			t.Fatal(err)
		}
		if err := service.Flush(); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			m, err := client.Request("echo.x", []byte(fmt.Sprint(i)), time.Second)
			if err != nil || string(m.Data) != fmt.Sprint(i) {
				t.Fatalf("%v, %v", m, err)
			}
		}
		if _, err := client.Request("nobody", nil, time.Second); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("got %v", err)
		}
	})
}

// Consumers without names are consumers of their own, as those of NATS are: one replaced another that was still asked,
// and showed by its heartbeats that it was there.
func TestConsumersWithoutNames(t *testing.T) {
	inBubble(t, func(t *testing.T, n *simnats.Network) {
		t.Helper()
		nc := connect(t, n, "client", "a")
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		var consumers []jetstream.Consumer
		for range 2 {
			c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{})
			if err != nil {
				t.Fatal(err)
			}
			consumers = append(consumers, c)
		}
		if _, err := js.Publish(t.Context(), "s", nil); err != nil {
			t.Fatal(err)
		}
		for i, c := range consumers {
			if _, err := c.Next(jetstream.FetchMaxWait(time.Second)); err != nil {
				t.Errorf("consumer %d: %v", i, err)
			}
		}
		if err := s.DeleteConsumer(t.Context(), consumers[0].CachedInfo().Name); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "s", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := consumers[1].Next(jetstream.FetchMaxWait(time.Second)); err != nil {
			t.Errorf("after the end of the other one: %v", err)
		}
	})
}

// What a bucket has to do it does on the simulated JetStream as on the real one: see integration/journal.
func TestBucketConforms(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			journaltest.ConformanceIn(t, func(t *testing.T, check func(*testing.T, journaltest.Journal)) {
				t.Helper()
				inBubble(t, func(t *testing.T, n *simnats.Network) {
					t.Helper()
					nc := connect(t, n, "node", "a")
					defer nc.Close()
					d, err := buckets.OpenDeployment(t.Context(), nc,
						buckets.DeploymentConfig{Prefix: "holdfast", Shards: 1, Replicas: replicas})
					if err != nil {
						t.Fatal(err)
					}
					check(t, d.Bucket(0))
				})
			})
		})
	}
}

// Several writers take one bucket over from one another, as in jetstream, while their connections end, links are cut and
// leaders step down.
func TestRivals(t *testing.T) {
	inBubble(t, func(t *testing.T, n *simnats.Network) {
		t.Helper()
		const goal = 400
		servers := []string{"a", "b", "c"}
		var rivals journaltest.Rivals
		var writing sync.WaitGroup
		open := func(process, server string) journaltest.Journal {
			nc := connect(t, n, process, server)
			d, err := buckets.OpenDeployment(t.Context(), nc,
				buckets.DeploymentConfig{Prefix: "holdfast", Shards: 1, Replicas: 3})
			if err != nil {
				t.Fatal(err)
			}
			return d.Bucket(0)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for i, process := range servers {
			b := open(process, servers[i])
			writing.Go(func() { rivals.Write(ctx, b, uint64(i), goal) })
		}
		done := make(chan struct{})
		go func() {
			writing.Wait()
			close(done)
		}()
		upset(n, servers, done)
		rivals.Check(t, open("reader", "a"), goal)
	})
}

// upset lets one thing after the other go wrong until all is done.
func upset(n *simnats.Network, processes []string, done <-chan struct{}) {
	dice := rand.New(rand.NewPCG(1, 0))
	for {
		process, other := processes[dice.IntN(len(processes))], processes[dice.IntN(len(processes))]
		mend := func() {}
		n.Bus.Do(func() {
			switch dice.IntN(4) {
			case 0:
				n.Reset(process)
			case 1:
				n.StepDown("KV_HOLDFAST_0")
			case 2:
				n.Cut(process, other)
				mend = func() { n.Mend(process, other) }
			case 3:
				n.Stop(other)
				mend = func() { n.Start(other) }
			}
		})
		over := wait(done, time.Duration(dice.Int64N(int64(2*time.Second))))
		n.Bus.Do(mend)
		if over || wait(done, 500*time.Millisecond) {
			return
		}
	}
}

// wait waits for a while, and reports whether all is done.
func wait(done <-chan struct{}, d time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}
