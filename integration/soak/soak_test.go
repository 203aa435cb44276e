package soak

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream"
)

var (
	length      = flag.Duration("soak.for", 0, "how long rounds are begun; 0: there are two")
	clients     = flag.Int("soak.clients", 100, "how many clients there are")
	connections = flag.Int("soak.connections", 32, "how many connections they share")
	seed        = flag.Uint64("soak.seed", 0, "what the clients' dice begin with; 0: any")
)

const (
	// shards is how many the node has.
	shards = 4
	// resources is how many a round uses, operations how many it has at least on each side of a restart.
	resources, operations = 40, 3000
	// patience bounds every wait.
	patience = 3 * time.Minute
	// maxHeld and maxWaiting are what the node may hold. The load never comes there.
	maxHeld, maxWaiting = 600, 500
)

// tuning is at a hundredfold of the usual speed, but the resources of a round are remembered until its end: what is
// forgotten are those of the rounds before.
var tuning = actors.Tuning{
	MaxWaiting: 150, CompactCommits: 500, CompactBytes: 320 << 10, History: 500,
	Remember: patience, ShrinkAfter: patience, MaxRemembered: resources/shards + 4,
	IdleAfter: 300 * time.Millisecond, CommitDecisions: 200,
}

// run is a node under load.
type run struct {
	*testing.T
	stand  *stand.Stand
	books  *books
	conns  []*nats.Conn
	seed   uint64
	counts linear.Counts
	heaps  []uint64
}

// A node under load, restarted in each round, gives right answers, and at the end as many goroutines run and as much
// memory is used as before, its buckets are small, and it has counted to the last lease and the last request.
func TestSoak(t *testing.T) {
	r := &run{T: t, seed: *seed}
	if r.seed == 0 {
		r.seed = rand.Uint64()
	}
	t.Logf("seed %d", r.seed)
	r.stand = stand.Start(t, stand.Config{
		Shards: shards, Tuning: tuning, Capacity: node.Capacity{Held: maxHeld, Waiting: maxWaiting},
	})
	for range *connections {
		r.conns = append(r.conns, stand.Dial(t, r.stand.URL()))
	}
	r.books = openBooks(r.stand.Deployment)
	quiet := runtime.NumGoroutine()
	r.play()
	p := &probe{TB: t, nc: r.conns[0]}
	p.fill()
	r.restart()
	p.fill()
	r.checkBounded()
	r.checkGoroutines(quiet)
	r.checkHeap()
}

// play plays the rounds while the journals are read.
func (r *run) play() {
	r.Helper()
	began, done := time.Now(), make(chan struct{})
	ctx, cancel := context.WithCancel(r.Context())
	go func() {
		defer close(done)
		r.books.watch(ctx)
	}()
	for n := 0; n < 2 || time.Since(began) < *length; n++ {
		r.round(n)
	}
	cancel()
	<-done
	total := r.books.totals()
	r.Logf("%v\n%+v\nheap in MB after each round: %v", r.counts, total, r.heaps)
	if total.Pages == 0 || total.Forgotten == 0 || r.counts.Bounces == 0 || r.counts.Judged < resources/2 {
		r.Error("vacuous: nothing was compacted, forgotten or bounced, or hardly a resource was held against the model")
	}
	if total.Gaps > 0 || total.Unseen > total.Pages { // pages are replaced before they are read on a busy machine
		r.Errorf("vacuous: the journals were read with %d gaps and %d records unseen", total.Gaps, total.Unseen)
	}
}

// round is one load on resources of its own, with a restart of the node in its middle.
func (r *run) round(n int) {
	r.Helper()
	names := namesOf(n)
	load, err := linear.StartLoad(r.Context(), linear.LoadConfig{
		Connect: func(i int) (*nats.Conn, error) { return r.conns[i%len(r.conns)], nil },
		Shards:  shards, Resources: names, Ephemeral: resources / 4, Shared: true, Blocks: true, Clients: *clients,
		Hot:  4,
		Seed: r.seed + uint64(n),
	})
	if err != nil {
		r.Fatal(err)
	}
	r.progress(load)
	r.restart()
	r.progress(load)
	history := load.Stop()
	journal, err := r.books.take(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	report, err := linear.Check(r.Context(), history, journal, nil, linear.Terms{
		Floors: linear.Floors{
			Operations: 2 * operations, Grants: 400, HandOffs: 200, Waited: 50, Extensions: 50, Sets: 10, Kept: 10,
			Releases: 100, Breaks: 5, Shared: 50, Downgrades: 3, Late: 15, Withdrawn: 5, Expiries: 10, Losses: 3,
		},
		Bounds: linear.Bounds{Time: patience}, Artifacts: r.ArtifactDir(),
	})
	if err != nil {
		r.Fatalf("seed %d, round %d: %v", r.seed, n, err)
	}
	r.counts.Add(report.Counts)
	p := &probe{TB: r, nc: r.conns[0]}
	p.drain(names)
	r.weigh()
}

// namesOf returns names of every kind.
func namesOf(round int) (all []string) {
	forms := []string{"soak.hot.%d.%d", "soak/cold %d %d", "soak.café.%d.%d", "soak:%d:%d*", "soak🔒%d-%d", ".soak..%d.%d"}
	for i := range resources {
		all = append(all, fmt.Sprintf(forms[i%len(forms)], round, i))
	}
	return all
}

// progress returns when a half of the operations of a round is over.
func (r *run) progress(l *linear.Load) {
	r.Helper()
	want := l.Done() + operations
	stand.Eventually(r, "operations", func() bool { return l.Done() >= want })
}

func (r *run) restart() {
	r.Helper()
	r.books.without(func() *jetstream.Deployment {
		r.stand.Restart()
		return r.stand.Deployment
	})
}

// checkBounded checks that the buckets are no larger than compactions let them become: the history, what grows until the
// next compaction begins, and what comes until that has purged.
func (r *run) checkBounded() {
	r.Helper()
	const mostCommits, mostPages = 500 + 64 + 3*500, 128
	fresh := openBooks(r.stand.Deployment)
	if _, err := fresh.take(r.Context()); err != nil {
		r.Error(err)
	}
	for shard, s := range fresh.shards {
		if s.Commits > mostCommits || s.Pages > mostPages {
			r.Errorf("shard %d: its bucket holds %d commits and %d pages; %d and %d are the most that it may", shard,
				s.Commits, s.Pages, mostCommits, mostPages)
		}
	}
}

// checkGoroutines waits until there are as few goroutines as before.
func (r *run) checkGoroutines(quiet int) {
	r.Helper()
	const slack = 10 // of the libraries
	stand.Eventually(r, "the goroutines end", func() bool { return runtime.NumGoroutine() <= quiet+slack })
}

// weigh notes how large the heap is.
func (r *run) weigh() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.heaps = append(r.heaps, m.HeapAlloc>>20)
}

// checkHeap checks that the heap does not grow: its last third is not much heavier than the one before. The node
// remembers for some time, so the first rounds do not count.
func (r *run) checkHeap() {
	r.Helper()
	third := len(r.heaps) / 3
	if third < 3 {
		return
	}
	middle, last := mean(r.heaps[third:2*third]), mean(r.heaps[2*third:])
	if last > middle*3/2+32 {
		r.Errorf("the heap grows: %d MB in the middle, %d MB at the end", middle, last)
	}
}

func mean(n []uint64) (sum uint64) {
	for _, v := range n {
		sum += v
	}
	return sum / uint64(len(n))
}
