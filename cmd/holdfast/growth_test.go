package main_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// A deployment begins with one node and one replica, and grows to three of both while it is in use: no
// call fails, and all is there when the first node is gone.
func TestGrowth(t *testing.T) {
	t.Parallel()
	m := stand.NewGrowing(t, 3, "--shards", "2")
	add := func(member *stand.Member) {
		began := time.Now()
		member.Start()
		member.WaitReady()
		t.Logf("%s is ready after %v", member.Name, time.Since(began).Round(time.Millisecond))
	}
	add(m.All[0])
	run(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--server", m.All[0].URL).want(t, 0, "token 1")
	stop := growthLoad(t, m.All[0].URL)
	add(m.All[1])
	add(m.All[2])
	for shard := range 2 {
		m.All[2].WaitLog(fmt.Sprintf("stream=KV_HOLDFAST_%d had=1 has=3", shard))
	}
	stop()
	for _, member := range m.All {
		if strings.Contains(member.Written(), "level=ERROR") {
			t.Errorf("%s complains:\n%s", member.Name, member.Written())
		}
	}
	m.All[0].Kill()
	run(t, "get", "orders.42", "--server", m.All[1].URL, "--timeout", "30s").want(t, 0,
		`^held: orders.42 by "me", token 1`)
}

// growthLoad locks and unlocks until stop is called, and stop checks that nothing has failed.
func growthLoad(t *testing.T, url string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range 8 {
		c := stand.Client(t, stand.Dial(t, url))
		running.Go(func() {
			resource, last, grants, longest := fmt.Sprint("load.", i), holdfast.Token(0), 0, time.Duration(0)
			for ctx.Err() == nil {
				began := time.Now()
				l, err := c.Acquire(t.Context(), resource)
				if err == nil && l.Token() <= last {
					err = fmt.Errorf("token %v after %v", l.Token(), last)
				}
				if err == nil {
					last = l.Token()
					err = l.Release(t.Context())
				}
				if grants++; err != nil {
					t.Errorf("%s after %v: %v", resource, time.Since(began), err)
					return
				}
				longest = max(longest, time.Since(began))
			}
			t.Logf("%s: %d grants, the last is token %v, the longest took %v", resource, grants, last,
				longest.Round(time.Millisecond))
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}
