package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

const (
	// startShards is the number of shards that a cluster has without --shards.
	startShards = 16
	// watchStart is how long shards may move after the last node of a start is ready: the leadership of a bucket
	// follows the shard ten seconds after it was opened.
	watchStart = 15 * time.Second
)

// BenchmarkStart starts three nodes together under load, and counts the shards that move after they were opened for the
// first time: from empty directories, and after all three were killed.
func BenchmarkStart(b *testing.B) {
	var first, again series
	for b.Loop() {
		m := stand.NewMembers(b, 3, "--shards", fmt.Sprint(startShards))
		first.add(float64(startTogether(b, m)))
		for _, member := range m.All {
			member.Kill()
		}
		again.add(float64(startTogether(b, m)))
		for _, member := range m.All {
			member.Kill()
		}
	}
	b.ReportMetric(first.mean(), "moves-first")
	b.ReportMetric(first.most(), "moves-first-worst")
	b.ReportMetric(again.mean(), "moves-again")
	b.ReportMetric(again.most(), "moves-again-worst")
	b.ReportMetric(0, "ns/op")
}

// startTogether starts the nodes and a load, and returns how many shards have moved until [watchStart] was over.
func startTogether(b *testing.B, m *stand.Members) (moves int) {
	b.Helper()
	for _, member := range m.All {
		member.Start()
	}
	m.All[0].WaitReady()
	load := startSteady(b, []string{m.All[0].URL})
	for _, member := range m.All {
		member.WaitReady()
	}
	<-time.After(watchStart)
	failed := 0
	for _, c := range load.stop() {
		if c.err != nil {
			failed++
		}
	}
	opened, handed := 0, 0
	for _, member := range m.All {
		opened += strings.Count(member.Written(), `msg="shard open"`)
		handed += strings.Count(member.Written(), `msg="handing over the shard"`)
	}
	b.Logf("%d shards were opened %d times and handed over %d times, %d calls failed (load %s)", startShards, opened,
		handed, failed, systemLoad())
	return opened - startShards
}
