package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// newCrowd returns a ledger with exclusive leases, shared ones, ephemeral ones before, between and behind those, and
// lost ones.
func newCrowd(t rapidOrT) *keeper {
	k := newKeeper(t)
	for i := range 12 {
		name := fmt.Sprint("r", i)
		if i%4 == 3 {
			k.step(name, k.acquire(1, 1))
			continue
		}
		for n := range i {
			r := k.acquire(100, uint32(1+n%3))
			if (n+i)%4 < i%4 {
				ephemeral(r.Request)
			}
			k.step(name, r)
		}
	}
	k.step("memory", k.acquire(1, 1, ephemeral))
	for i := range 9 {
		name := fmt.Sprint("lost", i)
		for n := range uint64(i + 1) {
			k.step(name, k.acquire(100, 1, []func(*messages.AcquireRequest){delayed, confirmed}[n%2]))
		}
		for token := range uint64(i/2 + 1) {
			k.step(name, lease.Break{Request: &messages.BreakRequest{Token: token + 1}})
		}
	}
	for name, more := range map[string]func(*messages.AcquireRequest){
		"resting": func(*messages.AcquireRequest) {}, "resting and lost": confirmed, "resting and confirmed": confirmed,
	} {
		k.step(name, k.acquire(1, 1, more, func(r *messages.AcquireRequest) { r.MinHoldMs, r.Tokens = 9000, 4 }))
		k.step(name, lease.Break{Request: &messages.BreakRequest{Token: 2}})
	}
	k.step("resting and confirmed", lease.Confirm{Request: &messages.ConfirmRequest{Token: 3}})
	k.step("alone", k.acquire(1, 1, confirmed))
	k.step("alone", lease.Break{Request: &messages.BreakRequest{Token: 1}})
	return k
}

// want returns what a listing of everything has, one lease after the other.
func (k *keeper) want(heldBack bool) (all []string) {
	type placed struct {
		at    place
		token uint64
	}
	var leases []placed
	for resource, s := range k.states {
		image := s.Image()
		for h := range image.Holdings() {
			if !heldBack {
				leases = append(leases, placed{newPlace(resource), h.Grant.GetToken()})
			}
		}
		for l := range image.Lost() {
			if heldBack {
				leases = append(leases, placed{newPlace(resource), l.Grant.GetToken()})
			}
		}
	}
	slices.SortFunc(leases, func(a, b placed) int { return cmp.Or(a.at.compare(b.at), cmp.Compare(a.token, b.token)) })
	for _, l := range leases {
		all = append(all, fmt.Sprint(l.at.resource, " ", l.token))
	}
	return all
}

// list returns what a listing in pages of a limit has. between is called with the last lease of each page but the last.
func (k *keeper) list(limit, bytes int, heldBack bool, between func(*messages.Lease)) (all []string) {
	k.Helper()
	q := Query{Limit: limit, Bytes: bytes, Waiters: true, HeldBack: heldBack}
	q.Pattern, _ = messages.ParsePattern("")
	for {
		scan := NewScan(q)
		for done := false; !done; {
			done = scan.Step(k.ledger, lease.NewSessions(1), k.clock, queueOf)
		}
		found := scan.Result()
		all = append(all, k.checked(found, limit)...)
		if !found.More {
			return all
		}
		last := found.Leases[len(found.Leases)-1]
		q.After = messages.Cursor{Resource: last.GetResource()}
		if last.GetLimit() > 0 {
			q.After.Token = messages.Token(last.GetToken())
		}
		between(last)
	}
}

func queueOf(resource string) *messages.Queue {
	return &messages.Queue{Waiters: []*messages.Waiter{{Owner: "queues for " + resource}}}
}

// checked checks the queues of one page, and returns its leases.
func (k *keeper) checked(found Found, limit int) (all []string) {
	k.Helper()
	if len(found.Leases) > limit {
		k.Fatalf("a page has %d leases, more than %d", len(found.Leases), limit)
	}
	var resources, queues []string
	for _, l := range found.Leases {
		all = append(all, fmt.Sprint(l.GetResource(), " ", l.GetToken()))
		resources = append(resources, l.GetResource())
	}
	for _, queue := range found.Queues {
		queues = append(queues, queue.GetResource())
		if want := "queues for " + queue.GetResource(); len(queue.GetWaiters()) != 1 || queue.GetWaiters()[0].GetOwner() != want {
			k.Fatalf("the queue of %s is %v", queue.GetResource(), queue.GetWaiters())
		}
	}
	if resources = slices.Compact(resources); !slices.Equal(queues, resources) {
		k.Fatalf("a page has leases of %v and queues of %v", resources, queues)
	}
	return all
}

// A listing in pages has every lease once, in one order, wherever a page ends.
func TestScanFromEveryPlace(t *testing.T) {
	k := newCrowd(t)
	for _, heldBack := range []bool{false, true} {
		want := k.want(heldBack)
		for _, page := range []struct{ limit, bytes int }{{1, 1 << 20}, {2, 1 << 20}, {3, 1 << 20}, {7, 1 << 20},
			{1000, 1}, {1000, 200}, {1000, 1 << 20}} {
			if got := k.list(page.limit, page.bytes, heldBack, func(*messages.Lease) {}); !slices.Equal(got, want) || len(want) < 20 {
				t.Errorf("in pages of %+v, held back %v:\n%q\nwant\n%q", page, heldBack, got, want)
			}
		}
	}
}

// What ends between two pages is missing from then on, and nothing else is.
func TestScanWhileLeasesEnd(t *testing.T) {
	release := func(k *keeper, g *journal.Grant) {
		k.step(g.GetResource(), lease.Release{Request: &messages.ReleaseRequest{Owner: g.GetOwner(),
			Token: g.GetToken()}})
	}
	for name, ends := range map[string]func(last *messages.Lease, h lease.Lease) bool{
		"the lease of the cursor": func(last *messages.Lease,
			h lease.Lease) bool {
			return h.Grant.GetToken() == last.GetToken()
		},
		"all before it": func(last *messages.Lease,
			h lease.Lease) bool {
			return h.Grant.GetToken() <= last.GetToken()
		},
		"the next one": func(last *messages.Lease,
			h lease.Lease) bool {
			return h.Grant.GetToken() == last.GetToken()+1
		},
		"all of the resource": func(*messages.Lease, lease.Lease) bool { return true },
	} {
		for _, limit := range []int{1, 2, 3} {
			t.Run(fmt.Sprint(name, " ", limit), func(t *testing.T) {
				k := newCrowd(t)
				want, gone := k.want(false), map[string]bool{}
				got := k.list(limit, 1<<20, false, func(last *messages.Lease) {
					resource := last.GetResource()
					image := k.state(resource).Image()
					for h := range image.Holdings() {
						if ends(last, h) {
							gone[fmt.Sprint(resource, " ", h.Grant.GetToken())] = h.Grant.GetToken() > last.GetToken()
							release(k, h.Grant)
						}
					}
				})
				want = slices.DeleteFunc(want, func(l string) bool { return gone[l] })
				if !slices.Equal(got, want) {
					t.Errorf("got\n%q\nwant\n%q", got, want)
				}
			})
		}
	}
}
