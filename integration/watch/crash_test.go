package watch_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
)

var kills = flag.Int("watch.kills", 15, "how often the server is killed under the watches")

// crowd are watches that go on while the server is killed.
type crowd struct {
	ctx  context.Context
	t    *testing.T
	url  string
	work sync.WaitGroup
}

// watch runs a watch that lasts.
func (c *crowd) watch(pattern string, kinds ...holdfast.EventKind) *linear.Events {
	c.t.Helper()
	r, client := record(c.t, "watch of "+pattern, pattern, kinds...), client(c.t, c.url)
	opts := []holdfast.WatchOption{holdfast.Since(time.Time{})}
	if len(kinds) > 0 {
		opts = append(opts, holdfast.Kinds(kinds...))
	}
	c.work.Go(func() {
		err := follow(c.ctx, client, pattern, func(e holdfast.Event) error {
			r.Add(e)
			return nil
		}, opts...)
		if err != nil {
			c.t.Errorf("watch of %q: %v", pattern, err)
		}
	})
	return r
}

// resume runs a watch that is torn down after every few events, and goes on from what was saved. It may
// find no node at its beginning. Some of the positions are within a commit.
func (c *crowd) resume(r *linear.Events) (teardowns, within func() int) {
	c.t.Helper()
	client := client(c.t, c.url)
	saved, n, inside := "0:0,1:0,2:0,3:0", 0, 0
	c.work.Go(func() {
		for ; c.ctx.Err() == nil; n++ {
			position, err := holdfast.ParsePosition(saved)
			if err != nil {
				c.t.Error(err)
				return
			}
			if strings.Contains(saved, ".") {
				inside++
			}
			left := 1 + n%50
			err = follow(c.ctx, client, ">", func(e holdfast.Event) error {
				r.Add(e)
				saved = e.Position().String()
				if left--; left == 0 {
					return errTornDown
				}
				return nil
			}, holdfast.From(position), holdfast.Bookmarks(time.Millisecond))
			if err != nil && !errors.Is(err, errTornDown) && !errors.Is(err, holdfast.ErrUnavailable) {
				c.t.Errorf("resumed from %v: %v", position, err)
				return
			}
		}
	})
	return func() int { return n }, func() int { return inside }
}

var errTornDown = errors.New("torn down")

// present runs a watch that begins with the present holders, again and again.
func (c *crowd) present(b *table) {
	c.t.Helper()
	client := client(c.t, c.url)
	c.work.Go(func() {
		for n := 0; c.ctx.Err() == nil; n++ {
			b.begin()
			left := 100 + n%400
			err := follow(c.ctx, client, ">", func(e holdfast.Event) error {
				if left--; left == 0 {
					return errTornDown
				}
				return b.take(e)
			}, holdfast.Present())
			if err != nil && !errors.Is(err, errTornDown) && !errors.Is(err, holdfast.ErrUnavailable) {
				c.t.Errorf("beginning with the present holders: %v", err)
				return
			}
		}
	})
}

// Whatever is killed and torn down meanwhile, every watch yields what the journals have, each change once
// and in its order.
func TestServerKilledUnderWatches(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &crowd{ctx: ctx, t: t, url: s.URL}
	defer c.work.Wait()
	defer cancel()
	all, hot, escaped, resumed := c.watch(">"), c.watch("hot.*"), c.watch("n=C3=A4me=203=3A=2A"),
		record(t, "resumed", ">")
	ends := c.watch(">", holdfast.EventReleased, holdfast.EventExpired, holdfast.EventBroken)
	teardowns, within := c.resume(resumed)
	var holders table
	c.present(&holders)

	load := startLoad(t, s.URL, 16)
	for range *kills {
		moreEvents(t, all, 200)
		s.Kill()
		s.Restart()
	}
	load.Stop()
	journals := finished(t, s.URL)
	stand.Eventually(t, "the table is empty", func() bool { return holders.empty() || t.Failed() })
	await(t, journals, all, hot, escaped, ends, resumed)
	cancel()
	c.work.Wait()
	wantSame(t, journals, all, hot, escaped, ends, resumed)
	if within() == 0 {
		t.Error("no position to go on from was within a commit")
	}
	t.Logf("%d events through %d kills, %d positions to go on from, %d of them within a commit", all.Count(), *kills,
		teardowns(), within())
}
