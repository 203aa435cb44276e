package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
)

func TestDeployment(t *testing.T) {
	counts := map[string]int{}
	var first []string
	for range 10 {
		trace := run(t)
		sum := sha256.Sum256([]byte(strings.Join(trace, "\n")))
		counts[hex.EncodeToString(sum[:4])]++
		if first == nil {
			first = trace
		}
		for i := range min(len(trace), len(first)) {
			if trace[i] != first[i] {
				t.Log("differs at", i, "of", len(first), trace[i], first[i])
				break
			}
		}
	}
	t.Log(counts)
}

func run(t *testing.T) (trace []string) {
	cryptotest.SetGlobalRandom(t, 1)
	runtime.GC()
	runtime.GC()
	real := time.Now()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		n := simnats.NewNetwork(simnats.NewBus(1), "s0", "s1", "s2")
		defer n.Close()
		n.Bus.Trace = func(at time.Time, what string) { trace = append(trace, at.Sub(began).String()+" "+what) }
		d := &Deployment{Network: n, Servers: []string{"s0", "s1", "s2"}, Shards: 4, Replicas: 3,
			Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		for i := range 3 {
			if err := d.StartNode(ctx, i); err != nil {
				t.Fatal(err)
			}
		}
		c, nc, err := d.Client("c", 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			l, err := c.Acquire(ctx, fmt.Sprint("r", i%5), holdfast.TTL(10*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
		t.Log(time.Since(began))
		_ = c.Close(ctx)
		nc.Close()
		for i := range 3 {
			if err := d.StopNode(ctx, i); err != nil {
				t.Error(err)
			}
		}
		t.Log(time.Since(began))
	})
	t.Log(time.Since(real))
	return trace
}
