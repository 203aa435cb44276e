package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// samples is how often each shard is measured.
	samples = 3
	// measuredAtOnce is how many shards are measured at the same time.
	measuredAtOnce = 8
	// probeLevel begins the names of the resources that are read. They are never locked.
	probeLevel = "holdfast-doctor."
)

// commits reads a resource of each shard that is never locked. The owner answers when JetStream has confirmed that it
// is the owner, so the time is that of a commit and of a round trip.
func (d *deployment) commits(ctx context.Context, r *Result) {
	all := d.measure(ctx)
	var times []time.Duration
	seen := 0
	for shard, c := range all {
		switch _, denied := errors.AsType[*ask.DeniedError](c.err); {
		case c.cut:
			continue
		case denied:
			r.hidden("permission to publish on %s.shard.*.get.%s>", d.cfg.Prefix, probeLevel)
			return
		case errors.Is(c.err, nats.ErrNoResponders):
			r.noOwner(uint32(shard), "its subjects have no subscriber")
		case c.err != nil:
			r.problem(fmt.Sprintf("shard %d is stalled: no read is confirmed: %v", shard, c.err),
				"its locks can be neither granted nor released",
				fmt.Sprintf("look at the checks storage and replicas, and at the log of its owner for shard=%d; "+
					"its bucket needs a majority of its servers, and a disk that takes writes", shard))
			r.as("HoldfastShardStalled")
		case c.took >= d.cfg.Slow:
			r.warn(fmt.Sprintf("a commit of shard %d takes %s", shard, short(c.took)),
				"each grant, release and confirmed read waits for one",
				"look at the disks of the NATS servers and the network between them; "+
					"other programs may write to the same disk")
			r.as("HoldfastCommitsAreSlow")
		}
		if seen++; c.err == nil {
			times = append(times, c.took)
		}
	}
	if len(times) > 0 {
		confirms := "confirms"
		if d.synced {
			confirms = "confirms on disk"
		}
		r.see("%s, the slowest %s within %s, the round trip included", display.Count(len(times), "shard"), confirms,
			short(slices.Max(times)))
	}
	if seen < len(all) {
		r.cut(seen, len(all), "shard")
	}
}

// commit is the time that a confirmed read takes in a shard, or why there is none.
type commit struct {
	took time.Duration
	err  error
	// cut: the time of the check ended first.
	cut bool
}

// measure measures all shards, a few at the same time.
func (d *deployment) measure(ctx context.Context) []commit {
	all, places := make([]commit, min(d.info.GetShards(), jetstream.MaxShards)), make(chan struct{}, measuredAtOnce)
	var measuring sync.WaitGroup
	for shard := range all {
		places <- struct{}{}
		measuring.Go(func() {
			all[shard] = d.commit(ctx, uint32(shard))
			<-places
		})
	}
	measuring.Wait()
	return all
}

// commit measures the median time of a confirmed read in a shard.
func (d *deployment) commit(ctx context.Context, shard uint32) commit {
	subject := d.cfg.Prefix.Direct(messages.ShardsOf(d.info).Shard(shard), messages.OpGet, probe(shard, d.info.GetShards()))
	var times []time.Duration
	for range samples {
		begun := time.Now()
		if err := d.ask(ctx, subject, &messages.GetRequest{}, &messages.Reply{}); err != nil {
			return commit{err: err, cut: ctx.Err() != nil}
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	return commit{took: times[samples/2]}
}

// probe returns the key of a resource in the shard.
func probe(shard, shards uint32) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint(probeLevel, i); messages.ShardOf(key, shards) == shard {
			return key
		}
	}
}
