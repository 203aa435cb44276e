//go:build linux

package faults_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// outages returns for each fault how long some shard granted nothing, from the fault or a later grant to the
// first grant behind it. It is rough: faults that meet cannot be distinguished, and a shard may simply not have
// been asked.
func outages(h *linear.History, shards uint32, proofs []cluster.Proof) []time.Duration {
	longest := make([]time.Duration, len(proofs))
	for _, grants := range grantTimes(h, shards) {
		for i, p := range proofs {
			begun := p.Begun.Sub(h.Began())
			healed := begun + p.Lasted
			for at := 1; at < len(grants); at++ {
				from, to := max(grants[at-1], begun), grants[at]
				if from <= healed && to > from {
					longest[i] = max(longest[i], to-from)
				}
			}
		}
	}
	return longest
}

// grantTimes returns for each shard when clients received a grant.
func grantTimes(h *linear.History, shards uint32) [][]time.Duration {
	all := make([][]time.Duration, shards)
	for _, o := range h.Operations() {
		key, err := messages.KeyOf(o.Resource)
		if err != nil || o.Status != messages.Status_GRANTED {
			continue
		}
		shard := messages.ShardOf(key, shards)
		all[shard] = append(all[shard], o.Return)
	}
	for _, grants := range all {
		slices.Sort(grants)
	}
	return all
}

func TestOutages(t *testing.T) {
	t.Parallel()
	h := linear.NewHistory()
	for _, at := range []time.Duration{1, 2, 3, 9, 10, 20} {
		h.Add(linear.Operation{Resource: "a", Status: messages.Status_GRANTED, Return: at * time.Second})
	}
	h.Add(linear.Operation{Resource: "a", Status: messages.Status_HELD, Return: 5 * time.Second})
	fault := func(from, lasted time.Duration) cluster.Proof {
		return cluster.Proof{Begun: h.Began().Add(from * time.Second), Lasted: lasted * time.Second}
	}
	got := outages(h, 1, []cluster.Proof{fault(1, 1), fault(4, 1), fault(2, 1), fault(0, 2), fault(12, 1),
		fault(30, 1)})
	want := []time.Duration{time.Second, 5 * time.Second, 6 * time.Second, time.Second, 8 * time.Second, 0}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
