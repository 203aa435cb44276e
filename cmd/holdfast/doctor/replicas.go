package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// majority is the minimum number of servers of which one may fail.
const majority = 3

// replicas checks the bucket of each shard in JetStream. A replica under load is behind at most moments, and an
// election takes a moment; what stays so while this looks again is a finding.
func (d *deployment) replicas(ctx context.Context, r *Result) {
	var all []jetstream.Inspection
	for end, again := time.Now().Add(settling), true; again; {
		present, err := jetstream.Inspect(ctx, d.cfg.Conn, d.cfg.Prefix, messages.ShardsOf(d.info))
		if err != nil {
			d.noInspection(r, err)
			return
		}
		looked := len(all) > 0
		all = append(present, all[min(len(present), len(all)):]...)
		again = slices.ContainsFunc(all, isUnsettled) && (!looked || time.Now().Before(end)) &&
			connect.Pause(ctx, lookAgain)
	}
	d.buckets = all
	for _, i := range all {
		inspected(r, &i)
	}
	if shards := int(d.info.GetShards()); len(all) < shards {
		r.cut(len(all), shards, "bucket")
	} else if len(r.Findings) == 0 && len(all) > 0 {
		r.see("%s on %s each, all of them current", display.Count(len(all), "bucket"),
			display.Count(all[0].Replicas, "server"))
	}
	d.compareReplicas(r, all)
}

// isUnsettled reports whether a second look may see less.
func isUnsettled(i jetstream.Inspection) bool {
	return i.Silent != nil || i.Incomplete || len(i.Away) > 0 || len(i.Behind) > 0
}

func (d *deployment) noInspection(r *Result, err error) {
	if errors.Is(err, jetstream.ErrForbidden) {
		r.hidden("permission to publish on $JS.API.STREAM.INFO.KV_%s, and the same for the other shards",
			d.cfg.Prefix.Bucket(messages.ShardsOf(d.info).Shard(0)))
		return
	}
	r.hidden("JetStream in the account of this user: %s", display.OneLine(err.Error()))
}

// inspected adds what is wrong with a bucket.
func inspected(r *Result, i *jetstream.Inspection) {
	bucket := "bucket " + i.Bucket
	switch {
	case i.Err != nil:
		r.problem(fmt.Sprintf("%s cannot be used: %s", bucket, display.OneLine(i.Err.Error())),
			fmt.Sprintf("shard %d is not opened when its node starts, or it may lose records", i.Shard),
			"do what the sentence above says, and do not recreate the bucket: its tokens would be issued a second time")
	case i.Silent != nil:
		r.problem(bucket+" has no leader: "+display.OneLine(i.Silent.Error()),
			fmt.Sprintf("no change of shard %d can be confirmed", i.Shard),
			"start the NATS servers that are away: a majority of those that store it has to run")
		r.as("HoldfastShardStalled")
		return
	case i.Incomplete:
		r.warn(fmt.Sprintf("%s is stored on %s, and has to be on %d", bucket, display.Count(len(i.Servers), "server"),
			i.Replicas),
			"until a change of its replicas is finished, the next failure may stop the shard",
			"wait; if it stays so, start the NATS servers that are away: holdfast members shows them")
	}
	for _, server := range i.Away {
		r.warn(fmt.Sprintf("%s: the replica on server %s is away", bucket, display.Name(server)),
			"the next failure may stop the shard",
			fmt.Sprintf("start %s again; if it does not come back: holdfast members remove %s --routes ...",
				display.Name(server), display.Name(server)))
		r.as("HoldfastReplicasBehind")
	}
	if len(i.Behind) > 0 {
		r.warn(fmt.Sprintf("%s: the replica on server %s is behind", bucket, strings.Join(i.Behind, ", ")),
			"until it has caught up, the next failure may stop the shard",
			"wait; if it does not catch up, look at the disk and the network of that server")
		r.as("HoldfastReplicasBehind")
	}
}

// compareReplicas compares the replicas with the servers that are known by name, and the buckets with one another.
func (d *deployment) compareReplicas(r *Result, all []jetstream.Inspection) {
	servers, buckets := make(map[string]bool), make(map[int][]string)
	for name, n := range d.nodes {
		if n.Storage != nil {
			servers[name] = true
		}
	}
	for _, i := range all {
		if len(i.Servers) > 0 {
			buckets[i.Replicas] = append(buckets[i.Replicas], i.Bucket)
		}
		for _, name := range i.Servers {
			servers[name] = true
		}
	}
	fewest := majority
	for replicas := range buckets {
		fewest = min(fewest, replicas)
	}
	what := fmt.Sprintf("each bucket is stored on %s of a cluster of at least %d", display.Count(fewest, "server"),
		len(servers))
	if len(buckets) > 1 {
		what = fmt.Sprintf("the replicas were not raised in each bucket: stored on %s only: %s",
			display.Count(fewest, "server"), listed(buckets[fewest]))
	}
	if fewest == majority || len(servers) < majority {
		return
	}
	r.warn(what,
		"the locks of a server that fails stop with it, and are lost with its disk",
		"start a node with --replicas 3: it adds the replicas while the deployment is in use")
}
