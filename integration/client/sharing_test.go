package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// long is a lease that does not run out during a test: what is free was given back.
var long = holdfast.TTL(time.Hour)

func mustDowngrade(tb testing.TB, l *holdfast.Lock) {
	tb.Helper()
	stand.Must(tb, l.Downgrade(testContext(tb)))
}

// wantHolders checks that these locks are held, and no others.
func wantHolders(tb testing.TB, c *holdfast.Client, resource string, locks ...*holdfast.Lock) {
	tb.Helper()
	s := mustGet(tb, c, resource)
	var got, want []string
	for _, h := range s.Holders {
		got = append(got, fmt.Sprint(h.Fence, h.Slots))
	}
	for _, l := range locks {
		want = append(want, fmt.Sprint(l.Token(), l.Slots()))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || s.Held != (len(locks) > 0) {
		tb.Errorf("%s is held by %v, want %v", resource, got, want)
	}
}

func TestReadersAndWriter(t *testing.T) {
	c, other := newClient(t, newService(t).URL()), holdfast.Owner("other")
	a, b := mustAcquire(t, c, "r", holdfast.Shared()), mustAcquire(t, c, "r", holdfast.Shared(), other)
	if a.Token() != 1 || b.Token() != 1 || a.Claim() != b.Claim() {
		t.Errorf("two readers have the claims %v and %v", a.Claim(), b.Claim())
	}
	if s := mustGet(t, c, "r"); !s.Held || s.Permits != 2 || len(s.Holders) != 2 || s.Holders[1].Token != 2 ||
		s.Holders[1].Fence != 1 ||
		s.Holders[1].Limit != 4_294_967_295 || s.Owner != a.Owner() || s.Holders[1].Owner != "other" ||
		s.Waiters != nil {
		t.Errorf("got %+v", s)
	}
	var listed []string
	for l, err := range c.List(testContext(t), "r") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, fmt.Sprint(l.Token, l.Fence, l.Slots))
	}
	if want := []string{"000000000000001 000000000000001 [0]", "000000000000002 000000000000001 [1]"}; !slices.Equal(listed, want) {
		t.Errorf("listed: %q, want %q", listed, want)
	}
	writer := acquiring(testContext(t), c, "r", holdfast.Owner("writer"))
	untilWaiting(t, c, "r", 1)
	if _, err := c.TryAcquire(testContext(t), "r", holdfast.Shared()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("a reader overtook the writer: %v", err)
	}
	s, err := c.Get(testContext(t), "r", holdfast.WithWaiters())
	if err != nil || len(s.Waiters) != 1 || s.Waiters[0].Owner != "writer" || s.Waiters[0].Limit != 0 ||
		s.Waiters[0].Permits != 1 || s.Waiters[0].Left <= 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	queues := 0
	for q, err := range c.Queues(testContext(t), ">") {
		if queues++; err != nil || q.Resource != "r" || len(q.Waiters) != 1 || q.Waiters[0].Owner != "writer" {
			t.Errorf("got %+v, %v", q, err)
		}
	}
	if queues != 1 {
		t.Errorf("%d queues, want 1", queues)
	}
	mustRelease(t, a)
	mustRelease(t, b)
	w := mustGrant(t, writer)
	if token, ok := holdfast.TokenFromContext(w.Context()); token != 3 || !ok || w.Slots() != nil {
		t.Errorf("the writer has %v and the slots %v", token, w.Slots())
	}
	if _, err := c.TryAcquire(testContext(t), "r", holdfast.Shared()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("a reader beside the writer: %v", err)
	}
	mustRelease(t, w)
	if next := mustAcquire(t, c, "r", holdfast.Shared()); next.Token() != 4 {
		t.Errorf("a reader behind the writer has %v", next)
	}
}

// The leases of a resource may be on two pages of the listing. Its queue is on both, and comes once.
func TestQueueOnTwoPages(t *testing.T) {
	c := newClient(t, newService(t).URL())
	mustAcquire(t, c, "a", long)
	const workers = 20 // all at once would be answered so late on a busy machine that the client returns leases
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range messages.MaxListLimit / workers {
				if _, err := c.Acquire(testContext(t), "b", holdfast.Shared(), long); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	acquiring(testContext(t), c, "b", holdfast.Owner("writer"))
	untilWaiting(t, c, "b", 1)
	var queues []string
	for q, err := range c.Queues(testContext(t), ">") {
		if err != nil {
			t.Fatal(err)
		}
		queues = append(queues, q.Resource)
	}
	if !slices.Equal(queues, []string{"b"}) {
		t.Errorf("the queues of %q came", queues)
	}
}

// Each lock of one owner has a lease of its own, and its own end.
func TestPermitsOfOneOwner(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	const limit, workers, turns = 5, 12, 15
	var mu sync.Mutex
	taken := make(map[int]bool)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range turns {
				err := c.Do(testContext(t), t.Name(), func(ctx context.Context, l *holdfast.Lock) error {
					claim, err := l.SlotClaim(0)
					slot := l.Slots()[0]
					mu.Lock()
					if taken[slot] || slot >= limit || claim.Resource != fmt.Sprint(t.Name(), "#", slot) || err != nil {
						t.Errorf("slot %d, taken %v, %v, %v", slot, taken[slot], claim, err)
					}
					taken[slot] = true
					mu.Unlock()
					err = l.Extend(ctx, time.Hour)
					mu.Lock()
					taken[slot] = false
					mu.Unlock()
					return err
				}, holdfast.Permits(1, limit), long)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	untilFree(t, other, t.Name())
}

func TestSharedReentrant(t *testing.T) {
	c := newClient(t, url)
	again := []holdfast.AcquireOption{holdfast.Permits(2, 9), holdfast.Reentrant(), long}
	a, b := mustAcquire(t, c, t.Name(), again...), mustAcquire(t, c, t.Name(), again...)
	others := []*holdfast.Lock{
		mustAcquire(t, c, t.Name(), holdfast.Permits(3, 9), holdfast.Reentrant(), long),
		mustAcquire(t, c, t.Name(), holdfast.Permits(2, 10), holdfast.Reentrant(), long),
		mustAcquire(t, c, t.Name(), holdfast.Permits(2, 9), long),
	}
	if !slices.Equal(a.Slots(), b.Slots()) || !slices.Equal(a.Slots(), []int{0, 1}) {
		t.Errorf("got the slots %v and %v", a.Slots(), b.Slots())
	}
	wantHolders(t, c, t.Name(), append(others, a)...)
	mustRelease(t, a)
	wantHolders(t, c, t.Name(), append(others, b)...)
	mustRelease(t, b)
	wantHolders(t, c, t.Name(), others...)
}

func TestDowngrade(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]holdfast.AcquireOption{
		"Persistent": nil, "Ephemeral": {holdfast.Ephemeral()}, "NoRenewal": {holdfast.NoRenewal()},
		"Reentrant": {holdfast.Reentrant()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, other := proxy.New(t, url), newClient(t, url)
			c := newClient(t, p.URL())
			l := mustAcquire(t, c, t.Name(), append(opts, long)...)
			former, before := l.Claim(), l.Context()
			reader := acquiring(testContext(t), other, t.Name(), holdfast.Shared())
			untilWaiting(t, other, t.Name(), 1)
			p.OnAnswers("extend", proxy.First(1, proxy.Lose))
			mustDowngrade(t, l)
			r := mustGrant(t, reader)
			if l.Token() != former.Token+1 || l.Claim() != r.Claim() || !slices.Equal(l.Slots(), []int{0}) ||
				!l.Valid() {
				t.Errorf("%v with the slots %v became %v, and a reader has %v", former, l.Slots(), l.Claim(), r.Claim())
			}
			if claim, _ := holdfast.ClaimFromContext(before); claim != former || before.Err() != nil {
				t.Errorf("the context from before has %v, %v", claim, before.Err())
			}
			if err := l.Extend(testContext(t), time.Hour); err != nil {
				t.Error(err)
			}
			mustDowngrade(t, l)
			wantHolders(t, other, t.Name(), l, r)
			mustRelease(t, l)
			wantHolders(t, other, t.Name(), r)
		})
	}
}

// A downgrade of which nothing is known: the lock becomes shared later, or is released under either token.
func TestDowngradeGivenUp(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"Release", "GoOn"} {
		for way, lose := range map[string]func(*proxy.Proxy, string, func() proxy.Verdict){
			"Request": (*proxy.Proxy).OnRequests, "Answer": (*proxy.Proxy).OnAnswers,
		} {
			t.Run(then+way, func(t *testing.T) {
				t.Parallel()
				p, other := proxy.New(t, url), newClient(t, url)
				c := newClient(t, p.URL(), holdfast.Timeout(brief))
				l := mustAcquire(t, c, t.Name(), long)
				lose(p, "extend", proxy.Always(proxy.Lose))
				if err := l.Downgrade(testContext(t)); !errors.Is(err, holdfast.ErrUnknown) || !l.Valid() {
					t.Fatalf("got %v, want ErrUnknown", err)
				}
				if then == "GoOn" {
					lose(p, "extend", proxy.Always(proxy.Pass))
					stand.Eventually(t, "the lock is shared", func() bool { return l.Slots() != nil })
					wantHolders(t, other, t.Name(), l)
				}
				mustRelease(t, l)
				wantHolders(t, other, t.Name())
			})
		}
	}
}

// A repeated acquire may be granted the lease under the token that the downgrade has given it, before the client knows
// that token.
func TestLateGrantWhileDowngrading(t *testing.T) {
	t.Parallel()
	p, other := proxy.New(t, url), newClient(t, url)
	c := newClient(t, p.URL())
	p.OnRequests("acquire", proxy.First(1, proxy.Keep))
	l := mustAcquire(t, c, t.Name(), long)
	p.OnAnswers("extend", proxy.Always(proxy.Lose))
	done := make(chan error, 1)
	go func() { done <- l.Downgrade(testContext(t)) }()
	stand.Eventually(t, "the service has downgraded the lease",
		func() bool { return mustGet(t, other, t.Name()).Limit != 0 })
	answered := p.Answered("acquire")
	p.Deliver()
	<-answered
	mustGet(t, c, t.Name()) // behind the late grant
	p.OnAnswers("extend", proxy.Always(proxy.Pass))
	stand.Must(t, <-done)
	if err := l.Extend(testContext(t), time.Hour); err != nil {
		t.Errorf("the lease was given back: %v", err)
	}
	wantHolders(t, other, t.Name(), l)
	mustRelease(t, l)
}

// The event that shows the end of the former token is no loss, also if it comes before the answer. That of the end
// of the lease is one.
func TestDowngradeIsNoLoss(t *testing.T) {
	t.Parallel()
	nc := stand.Dial(t, url)
	for name, opts := range map[string][]holdfast.AcquireOption{"Renewed": nil, "NoRenewal": {holdfast.NoRenewal()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, other := proxy.New(t, url), newClient(t, url)
			c := newClient(t, p.URL())
			beacon := mustAcquire(t, c, t.Name()+".beacon", holdfast.NoRenewal(), long)
			l := mustAcquire(t, c, t.Name(), append(opts, long)...)
			stand.Eventually(t, "the client has subscribed to both", func() bool { return p.Count("get") >= 2 })
			events, err := nc.SubscribeSync(eventsOf(t, l))
			if err == nil {
				err = nc.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
			p.OnAnswers("extend", proxy.Always(proxy.Lose))
			done := make(chan error, 1)
			go func() { done <- l.Downgrade(testContext(t)) }()
			if m, err := events.NextMsgWithContext(testContext(t)); err != nil || m.Header.Get("Holdfast-Event") != "RELEASED" {
				t.Fatalf("got %v, %v, want the end of the former token", m, err)
			}
			asked := p.Count("get")
			forge(t, nc, beacon, "EXPIRED")
			stand.Eventually(t, "the client has received both events", func() bool { return p.Count("get") > asked })
			p.OnAnswers("extend", proxy.Always(proxy.Pass))
			if err := <-done; err != nil || !l.Valid() {
				t.Fatalf("the downgrade was taken for a loss: %v", err)
			}
			wantHolders(t, other, t.Name(), l)
			stand.Must(t, other.Break(testContext(t), l.Resource(), l.Token(), "test"))
			await(t, "the lock is lost", l.Lost())
		})
	}
}

// A question that was asked because of a hint, and is answered after a downgrade, shows another token and no loss.
func TestQuestionBehindDowngrade(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, url)
	c := newClient(t, p.URL())
	l := mustAcquire(t, c, t.Name(), holdfast.NoRenewal(), long)
	stand.Eventually(t, "the client has subscribed", func() bool { return p.Count("get") > 0 })
	p.OnRequests("get", proxy.Always(proxy.Keep))
	before := p.Count("get")
	forge(t, stand.Dial(t, url), l, "EXPIRED")
	stand.Eventually(t, "the client asks", func() bool { return p.Count("get") > before })
	mustDowngrade(t, l)
	answered := p.Answered("get")
	p.OnRequests("get", proxy.Always(proxy.Pass))
	p.Deliver()
	<-answered
	mustGet(t, c, t.Name()) // behind the answer
	if err := l.Extend(testContext(t), time.Hour); err != nil {
		t.Errorf("the lock was taken for lost: %v", err)
	}
	mustRelease(t, l)
}

// A resource is free when its last holder is gone.
func TestWaitFreeOfAllHolders(t *testing.T) {
	t.Parallel()
	c := newClient(t, url)
	a, b := mustAcquire(t, c, t.Name(), holdfast.Shared(), long), mustAcquire(t, c, t.Name(), holdfast.Shared(), long)
	mustRelease(t, a)
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	if err := c.WaitFree(ctx, t.Name()); !errors.Is(err, holdfast.ErrTimeout) {
		t.Errorf("free beside a holder: %v", err)
	}
	mustRelease(t, b)
	if err := c.WaitFree(testContext(t), t.Name()); err != nil {
		t.Error(err)
	}
}

func TestWatchSharedLeases(t *testing.T) {
	c := newClient(t, newService(t).URL())
	a, b := mustAcquire(t, c, "r", holdfast.Permits(2, 5), long), mustAcquire(t, c, "r", holdfast.Permits(1, 5), long)
	mustRelease(t, mustAcquire(t, c, "r", holdfast.Permits(1, 5), long))
	var got []string
	for e, err := range c.Watch(testContext(t), "r", holdfast.Present(), holdfast.UntilNow()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == holdfast.EventPresent {
			got = append(got, fmt.Sprint(uint64(e.Lease.Token), uint64(e.Lease.Fence), e.Lease.Limit, e.Lease.Slots))
		}
	}
	if want := []string{"1 1 5 [0 1]", "2 1 5 [2]"}; !slices.Equal(got, want) {
		t.Errorf("present: %q, want %q", got, want)
	}
	mustRelease(t, a)
	mustRelease(t, b)
}
