package actors_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// crowd knows since when requests wait for resources.
type crowd struct {
	*world
	since map[string][]time.Time
	// holders are those of the resources.
	holders map[string]string
	asked   int
}

func (c *crowd) acquire(resource string, a lease.Acquire) {
	c.asked++
	a.Request.Owner = fmt.Sprint("o", c.asked)
	c.send(resource, queued(a, time.Hour))
	if c.holders[resource] == "" {
		c.holders[resource] = a.Request.Owner
	} else {
		c.since[resource] = append(c.since[resource], time.Now())
	}
}

// next lets the holder of a resource release it, so that the first request that waits gets it.
func (c *crowd) next(resource string, holder string) {
	c.want(messages.Status_RELEASED, 0, resource, release(c.holders[resource]))
	if c.holders[resource] = holder; holder != "" {
		c.since[resource] = c.since[resource][1:]
	}
}

// want returns the first entries of a ranking.
func (c *crowd) first(by messages.Ranking, limit int) (all []string) {
	waited := func(resource string) int { return int(time.Since(c.since[resource][0]).Milliseconds()) }
	for resource, queue := range c.since {
		if len(queue) > 0 {
			all = append(all, resource)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		length, age := cmp.Compare(len(c.since[b]), len(c.since[a])), cmp.Compare(waited(b), waited(a))
		if by == messages.Ranking_WAIT {
			length, age = age, length
		}
		return cmp.Or(length, age, cmp.Compare(a, b))
	})
	all = all[:min(limit, len(all))]
	for i, resource := range all {
		all[i] = fmt.Sprint(resource, " ", len(c.since[resource]), " ", waited(resource), " ", c.holders[resource])
	}
	return all
}

// rank checks both rankings.
func (c *crowd) rank(limit int) {
	c.Helper()
	synctest.Wait()
	for _, by := range []messages.Ranking{messages.Ranking_QUEUE, messages.Ranking_WAIT} {
		found, err := c.shard.List(c.Context(), actors.Listing{By: by, Limit: limit, Bytes: 1 << 20})
		if err != nil {
			c.Fatal(err)
		}
		holders, got := map[string]string{}, []string{}
		for _, l := range found.Leases {
			holders[l.GetResource()] = l.GetOwner()
		}
		for _, q := range found.Queues {
			got = append(got, fmt.Sprint(q.GetResource(), " ", q.GetWaiting(), " ", q.GetOldestMs(), " ",
				holders[q.GetResource()]))
		}
		if want := c.first(by, limit); !slices.Equal(got, want) {
			c.Fatalf("by %s the first %d are\n%q\nwant\n%q", by, limit, got, want)
		}
	}
}

// A ranking has the queues as they are, whatever has been granted and has waited before.
func TestRankingOfQueues(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		c := &crowd{world: w, since: map[string][]time.Time{}, holders: map[string]string{}}
		random := rand.New(rand.NewPCG(3, 4))
		for i := range 1500 {
			resource := fmt.Sprint("r", random.IntN(40))
			if len(c.since[resource]) > 0 && random.IntN(100) < 45 {
				c.next(resource, c.ask(resource, lease.Get{Request: &messages.GetRequest{Waiters: true}}).GetWaiters()[0].GetOwner())
			} else {
				c.acquire(resource, acquire("", time.Hour))
			}
			w.pass(time.Duration(random.IntN(3)) * time.Millisecond)
			if i%10 == 0 {
				c.rank(1 + random.IntN(50))
			}
		}
	})
}

// A ranking of more queues than one step looks at has all of them, and a resource that is held back, too.
func TestRankingOfManyQueues(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		c := &crowd{world: w, since: map[string][]time.Time{}, holders: map[string]string{}}
		for i := range 5000 {
			for range 2 + i%7/6 {
				c.acquire(fmt.Sprint("r", i), acquire("", time.Hour))
			}
			if i%50 == 0 {
				w.pass(time.Millisecond)
			}
		}
		c.acquire("back", confirmed())
		w.want(messages.Status_RELEASED, 0, "back", breakIt(1))
		for range 3 {
			c.acquire("back", acquire("", time.Hour))
		}
		c.holders["back"] = ""
		for _, limit := range []int{1, 100, 1000} {
			c.rank(limit)
		}
	})
}
