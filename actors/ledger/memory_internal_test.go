package ledger

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// BenchmarkLedgerMemory is how many bytes the ledger takes for a resource: one that was released a
// short while ago, and one that has been free for longer.
func BenchmarkLedgerMemory(b *testing.B) {
	for _, shrunk := range []bool{false, true} {
		b.Run(map[bool]string{false: "released", true: "remembered"}[shrunk], func(b *testing.B) {
			const resources = 250_000
			for b.Loop() {
				before := heapInUse()
				l := releasedLedger(resources)
				if shrunk {
					l.pages.each(func(p *page) { p.shrink(1) })
				}
				b.ReportMetric(float64(heapInUse()-before)/resources, "B/name")
				runtime.KeepAlive(l)
			}
		})
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// releasedLedger is a ledger after that number of resources were locked and unlocked once.
func releasedLedger(resources int) *Ledger {
	var changes []*journal.Change
	for i := range resources {
		g := &journal.Grant{
			Resource: fmt.Sprintf("orders.%d", i), Owner: fmt.Sprintf("worker-%d@host", i%1000), Token: 1,
			TtlMs:        30_000,
			AcquiredAtMs: 1_700_000_000_000, RequestId: fmt.Sprintf("01JB2Y8K3M6N%014d", i),
		}
		for _, kind := range []messages.Event_Kind{messages.Event_ACQUIRED, messages.Event_RELEASED} {
			changes = append(changes, &journal.Change{Kind: kind, Grant: g})
		}
	}
	return replayed(changes)
}

// replayed is a ledger after these changes.
func replayed(changes []*journal.Change) *Ledger {
	l := New()
	for i, changes := range slices.Collect(slices.Chunk(changes, 1000)) {
		r := commit(uint64(i+1), 1)
		r.GetCommit().Opened, r.GetCommit().Changes = i == 0, changes
		if err := l.Read(uint64(i+1), r, never); err != nil {
			panic(err)
		}
	}
	l.Restart(lease.Time{}, func(string, *lease.Image) {})
	return l
}
