package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
)

func TestDeployment(t *testing.T) {
	runtime.GC()
	runtime.GC()
	real := time.Now()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		n := simnats.NewNetwork(simnats.NewBus(1), "s0", "s1", "s2")
		defer n.Close()
		d := &Deployment{Network: n, Servers: []string{"s0", "s1", "s2"}, Shards: 4, Replicas: 3,
			Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
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
}
