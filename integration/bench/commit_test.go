package bench

import (
	"fmt"
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// BenchmarkCommitSize says how many decisions an append should carry at most: pairs a second at each
// bound, in turns. An iteration is a round of each.
func BenchmarkCommitSize(b *testing.B) {
	bounds := []int{16, 64, 256, 1000}
	rates := make([]series, len(bounds))
	var stands []*stand.Stand
	for _, bound := range bounds {
		stands = append(stands, stand.Start(b, stand.Config{Tuning: actors.Tuning{CommitChanges: bound}}))
	}
	for b.Loop() {
		for i, s := range stands {
			ncs := connect(s)
			rates[i].add(pairs(b, func(c int) locker { return &serviceLock{nc: ncs[c%connections], owner: fmt.Sprint(c)} }))
			for _, nc := range ncs {
				nc.Close()
			}
		}
	}
	for i, bound := range bounds {
		b.ReportMetric(rates[i].median(), fmt.Sprint("pairs/s-at-", bound))
	}
}
