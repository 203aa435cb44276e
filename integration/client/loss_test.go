package client_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// However long a lease is and whenever its holder is cut off, the holder does not take the lock for its
// own any more when the service grants it to another holder. That its context has ended by then as well
// is a matter of how soon a timer is served: see docs/decisions/client.md.
func TestLossIsKnownInTime(t *testing.T) {
	t.Parallel()
	rival := newClient(t, url)
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			for j := range 3 {
				loseOne(t, rival, fmt.Sprint(t.Name(), "/", i, "/", j))
			}
		})
	}
	group.Wait()
}

// loseOne loses a lease at a random moment. The rival, whose connection is unimpaired, sees when the service takes
// it for over.
func loseOne(t *testing.T, rival *holdfast.Client, resource string) {
	t.Helper()
	// A client refuses grants that are nearly over, and a busy machine takes seconds for one.
	dice := stand.Dice(t, 1)[0]
	ttl := 4*time.Second + within(dice, time.Second)
	p := proxy.New(t, url)
	l := mustAcquire(t, newClient(t, p.URL(), holdfast.Timeout(10*time.Millisecond)), resource, holdfast.TTL(ttl))
	waiting := acquiring(testContext(t), rival, resource)
	cut := time.AfterFunc(within(dice, 2*ttl), p.Blackhole)
	defer cut.Stop()
	next := mustGrant(t, waiting)
	if l.Valid() {
		t.Errorf("TTL %v: %v is valid beside %v", ttl, l, next)
	}
	await(t, "the lock is lost at all", l.Lost())
	mustRelease(t, next)
}
