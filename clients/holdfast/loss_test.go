package holdfast_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// runs is how many leases are lost, and atOnce how many of them side by side.
var runs = flag.Int("holdfast.runs", 60, "how many leases the random test loses")

const atOnce = 10

// However long a lease is and whenever its holder is cut off, the holder knows before the service grants
// the lock to somebody else.
func TestLossIsKnownInTime(t *testing.T) {
	rival := newClient(t, url)
	var group sync.WaitGroup
	for w := range atOnce {
		group.Go(func() {
			for i := w; i < *runs; i += atOnce {
				loseOne(t, rival, fmt.Sprint(t.Name(), i))
			}
		})
	}
	group.Wait()
}

// loseOne loses a lease at a random moment. The rival, whose connection is unimpaired, sees when the
// service takes it for over.
func loseOne(t *testing.T, rival *holdfast.Client, resource string) {
	t.Helper()
	ttl := 100*time.Millisecond + rand.N(900*time.Millisecond)
	p := newProxy(t, url)
	c := newClient(t, p.url(), holdfast.Timeout(10*time.Millisecond))
	l := mustAcquire(t, c, resource, holdfast.TTL(ttl))
	waiting := acquiring(testContext(t), rival, resource)
	cut := time.AfterFunc(rand.N(2*ttl), p.blackhole)
	defer cut.Stop()
	next := mustGrant(t, waiting)
	if l.Valid() {
		t.Errorf("TTL %v: %v is valid beside %v", ttl, l, next)
	}
	select {
	case <-l.Lost():
	default:
		granted, deadline := time.Now(), l.Deadline()
		await(t, "the lock is lost at all", l.Lost())
		t.Errorf("TTL %v: %v was told %v behind its deadline and %v behind the grant of %v",
			ttl, l, time.Since(deadline), time.Since(granted), next)
	}
	mustRelease(t, next)
}
