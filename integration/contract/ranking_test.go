package contract

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// crowd has six resources that are held, the first one by nobody who is waited for, and "r5" by three: from "r1" on,
// each has been waited for for a shorter time and by more requests. Beside them "back" is held back and waited for.
func (c *client) crowd() {
	c.Helper()
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.back", `{"owner":"o","ttl_ms":600000,"confirm":true}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.break.back", `{"token":1}`)
	c.queueAt("back", 1)
	for i := range 5 {
		c.want(messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i), fmt.Sprintf(
			`{"owner":"o%d","ttl_ms":600000,"durability":%d}`, i, i%2))
	}
	for k := range 3 {
		c.want(messages.Status_GRANTED, uint64(k+1), "holdfast.acquire.r5", fmt.Sprintf(
			`{"owner":"s%d","ttl_ms":600000,"limit":3}`, k))
	}
	for i := 1; i <= 5; i++ {
		c.queueAt(fmt.Sprint("r", i), i)
	}
}

// queueAt lets some requests wait for a resource, and returns when the oldest has waited for some milliseconds.
func (c *client) queueAt(resource string, n int) {
	c.Helper()
	for range n {
		c.wait(resource)
	}
	c.until(fmt.Sprint(n, " wait for ", resource), func() bool {
		r := c.ask("holdfast.get."+resource, `{"waiters":true}`)
		return int(r.GetWaiting()) == n && r.GetWaiters()[0].GetWaitingMs() > 2
	})
}

// ranked returns the entries of a ranking by QUEUE or WAIT with the numbers of requests that wait, and who holds them.
func (c *client) ranked(json string) (entries, holders []string) {
	c.Helper()
	r := c.list(json)
	if r.GetNext() != "" {
		c.Errorf("a ranking goes on at %q", r.GetNext())
	}
	for _, q := range r.GetQueues() {
		entries = append(entries, fmt.Sprint(q.GetResource(), " ", q.GetWaiting()))
	}
	for _, l := range r.GetLeases() {
		holders = append(holders, fmt.Sprint(l.GetResource(), " ", l.GetOwner()))
	}
	return entries, holders
}

// A ranking has the resources for which most requests wait, or for the longest time, of all shards, held or held back.
func TestRankingOfQueues(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.crowd()
	longest := []string{"r5 5", "r4 4", "r3 3", "r2 2", "back 1", "r1 1"}
	oldest := []string{"back 1", "r1 1", "r2 2", "r3 3", "r4 4", "r5 5"}
	for by, want := range map[string][]string{"QUEUE": longest, "WAIT": oldest} {
		for limit := range 8 {
			entries, holders := c.ranked(fmt.Sprintf(`{"by":%q,"limit":%d}`, by, limit))
			first := want
			if limit > 0 {
				first = want[:min(limit, len(want))]
			}
			if !slices.Equal(entries, first) {
				t.Errorf("by %s the first %d are %v, want %v", by, limit, entries, first)
			}
			var held []string
			for _, e := range first {
				held = append(held, holderIn(e))
			}
			if held = slices.DeleteFunc(held, func(s string) bool { return s == "" }); !slices.Equal(holders, held) {
				t.Errorf("by %s the first %d are held by %v, want %v", by, limit, holders, held)
			}
		}
	}
	if entries, _ := c.ranked(`{"by":"WAIT","pattern":"r3"}`); !slices.Equal(entries, []string{"r3 3"}) {
		t.Errorf("of r3: %v", entries)
	}
	for _, waiters := range []bool{false, true} {
		r := c.list(fmt.Sprintf(`{"by":"QUEUE","limit":1,"waiters":%t}`, waiters))
		if q := r.GetQueues(); len(q) != 1 || len(q[0].GetWaiters()) != map[bool]int{true: 5}[waiters] {
			t.Errorf("with waiters %t: %v", waiters, q)
		}
	}
}

// holderIn returns the oldest holder of the resource of an entry, empty for the one that is held back.
func holderIn(entry string) string {
	switch name := entry[:2]; name {
	case "ba":
		return ""
	case "r5":
		return "r5 s0"
	default:
		return name + " o" + name[1:]
	}
}

// A ranking of leases has those that were granted first, in memory or in the journal, and their queues if asked for.
func TestRankingOfLeases(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.crowd()
	all := c.list(`{"waiters":true}`)
	slices.SortFunc(all.GetLeases(), func(a, b *messages.Lease) int {
		return cmp.Or(cmp.Compare(a.GetAcquiredAtMs(), b.GetAcquiredAtMs()),
			cmp.Compare(a.GetResource(), b.GetResource()), cmp.Compare(a.GetToken(), b.GetToken()))
	})
	for limit := 1; limit <= 9; limit++ {
		r := c.list(fmt.Sprintf(`{"by":"HOLD","limit":%d,"waiters":true}`, limit))
		want := all.GetLeases()[:min(limit, 8)]
		queues := map[string]uint32{}
		for i, l := range r.GetLeases() {
			if i >= len(want) || l.GetResource() != want[i].GetResource() || l.GetToken() != want[i].GetToken() {
				t.Fatalf("the first %d leases are\n%v\nwant\n%v", limit, r.GetLeases(), want)
			}
			if n := l.GetResource()[1] - '0'; n > 0 {
				queues[l.GetResource()] = uint32(n)
			}
		}
		if len(r.GetLeases()) != len(want) || r.GetNext() != "" || len(r.GetQueues()) != len(queues) {
			t.Errorf("the first %d: %v", limit, r)
		}
		for _, q := range r.GetQueues() {
			if q.GetWaiting() != queues[q.GetResource()] || len(q.GetWaiters()) != int(q.GetWaiting()) {
				t.Errorf("the queue of %s is %v", q.GetResource(), q)
			}
		}
	}
	if r := c.list(`{"by":"HOLD","pattern":"r5"}`); len(r.GetLeases()) != 3 || len(r.GetQueues()) != 0 {
		t.Errorf("of r5: %v", r)
	}
}

// What is no ranking, or no part of one, is refused with the way out.
func TestInvalidRanking(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for json, words := range map[string][]string{
		`{"by":9}`:                          {"by", "QUEUE, WAIT or HOLD", "9"},
		`{"by":"QUEUES"}`:                   {"by", "QUEUES"},
		`{"by":"QUEUE","after":"a"}`:        {"after", "raise limit"},
		`{"by":"HOLD","held_back":true}`:    {"held_back", "leave out one"},
		`{"by":"WAIT","limit":1001}`:        {"limit", "1000"},
		`{"by":"WAIT","pattern":"a..b"}`:    {"pattern"},
		`{"by":"WAIT","tenant":"a tenant"}`: {"tenant"},
	} {
		c.wantInvalid(&nats.Msg{Subject: "holdfast.list", Data: []byte(json)}, messages.JSON, words...)
	}
}
