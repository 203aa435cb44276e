package watch_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

var kills = flag.Int("watch.kills", 15, "how often the server is killed under those who watch")

// crowd are watches that go on while the server is killed.
type crowd struct {
	ctx  context.Context
	t    *testing.T
	url  string
	work sync.WaitGroup
}

// watch runs a watch that lasts.
func (c *crowd) watch(pattern string, r *recorder, opts ...holdfast.WatchOption) {
	c.t.Helper()
	client := client(c.t, c.url)
	c.work.Go(func() {
		err := told(c.ctx, client, pattern, func(e holdfast.Event) error {
			if e.Kind != holdfast.EventBookmark {
				r.add(factOf(e))
			}
			return nil
		}, opts...)
		if err != nil {
			c.t.Errorf("watch of %q: %v", pattern, err)
		}
	})
}

// resume runs a watch that is torn down after every few events, and goes on from what was saved. It may
// find nobody at its beginning.
func (c *crowd) resume(r *recorder) (teardowns func() int) {
	c.t.Helper()
	client := client(c.t, c.url)
	saved, n := "0:0,1:0,2:0,3:0", 0
	c.work.Go(func() {
		for ; c.ctx.Err() == nil; n++ {
			position, err := holdfast.ParsePosition(saved)
			if err != nil {
				c.t.Error(err)
				return
			}
			left := 1 + n%50
			err = told(c.ctx, client, ">", func(e holdfast.Event) error {
				if e.Kind != holdfast.EventBookmark {
					r.add(factOf(e))
				}
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
	return func() int { return n }
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
			err := told(c.ctx, client, ">", func(e holdfast.Event) error {
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

// Whatever is killed and torn down meanwhile, every watch tells what the journals have, each change once
// and in its order.
func TestServerKilledUnderWatches(t *testing.T) {
	s := startServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &crowd{ctx: ctx, t: t, url: s.URL}
	defer c.work.Wait()
	defer cancel()
	var all, hot, ends, resumed recorder
	var holders table
	from := holdfast.Since(time.Time{})
	c.watch(">", &all, from)
	c.watch("hot.*", &hot, from)
	c.watch(">", &ends, from, holdfast.Kinds(holdfast.EventReleased, holdfast.EventExpired, holdfast.EventBroken))
	teardowns := c.resume(&resumed)
	c.present(&holders)

	load := startLoad(t, s.URL, 16)
	for range *kills {
		before := all.len()
		eventually(t, func() string { return "no new events" }, func() bool { return all.len() >= before+200 || t.Failed() })
		s.Kill()
		s.Restart()
	}
	load.end()
	journals := finished(t, deployment(t, s.URL))
	eventually(t, func() string { return "the table is not empty" }, func() bool { return holders.empty() || t.Failed() })
	eventually(t, func() string {
		return fmt.Sprintf("%d events in the journals; told %d to one, %d to the one that resumes", journals.len(), all.len(), resumed.len())
	}, func() bool {
		return all.len() >= journals.len() && resumed.len() >= journals.len() && ends.len() >= journals.ofKinds(endings).len() &&
			hot.len() >= journals.only(t, "hot.*").len() || t.Failed()
	})
	cancel()
	c.work.Wait()

	all.wantSame(t, "all", journals)
	hot.wantSame(t, "hot.*", journals.only(t, "hot.*"))
	ends.wantSame(t, "ends", journals.ofKinds(endings))
	resumed.wantSame(t, "resumed", journals)
	t.Logf("%d events through %d kills, %d positions to go on from", journals.len(), *kills, teardowns())
}

var endings = []string{"RELEASED", "EXPIRED", "BROKEN"}

func (r *recorder) ofKinds(kinds []string) *recorder {
	some := &recorder{}
	for _, facts := range r.shards {
		for _, f := range facts {
			if contains(kinds, f) {
				some.add(f)
			}
		}
	}
	return some
}
