package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// settling is how long a shard may be without an owner: nodes take over those of a lost one within a few seconds,
	// and a planned move takes less.
	settling = 3 * time.Second
	// lookAgain is the pause between two looks.
	lookAgain = 250 * time.Millisecond
	// infosPerNode is how many requests for info are sent at the same time, for each node: one that hangs gets none of
	// them by chance in one of three thousand runs. maxInfos bounds the requests.
	infosPerNode, maxInfos = 8, 256
	// statsSubject is the one on which the nodes report their statistics, as NATS services do.
	statsSubject = "$SRV.STATS.holdfast"
	// noNodeAnswers is why a check cannot be made.
	noNodeAnswers = "a node that answers"
)

// shards finds the nodes, their versions, and which shard each owns.
func (d *deployment) shards(ctx context.Context, r *Result) {
	err := d.discover(ctx, r)
	for end := time.Now().Add(settling); errors.Is(err, nats.ErrNoResponders) && time.Now().Before(end) &&
		connect.Pause(ctx, lookAgain); {
		err = d.discover(ctx, r) // nodes that have just been started follow their NATS server after a moment
	}
	if err != nil {
		d.noInfo(r, err)
		return
	}
	without := unowned(d.info)
	for end := time.Now().Add(settling); len(without) > 0 && time.Now().Before(end) && connect.Pause(ctx, lookAgain); {
		if info, err := d.readInfo(ctx); err == nil {
			d.info, without = info, unowned(info)
		}
	}
	r.see("%s of %s", display.Count(int(d.info.GetShards()), "shard"), display.Count(len(d.info.GetNodes()), "node"))
	for _, shard := range without {
		r.noOwner(shard, "no node says that it owns it")
	}
	compareVersions(r, d.info)
	if lacks := absent(d.info); len(lacks) > 0 {
		r.warn("the nodes are older than this command: they lack "+strings.Join(lacks, ", "),
			"this command cannot check all that it checks of newer nodes",
			fmt.Sprintf("upgrade the nodes, or use the command of their version, %s",
				display.Name(d.info.GetVersion())))
	}
}

// discover sends several requests, because any node answers: one that hangs receives a part of them and answers none.
func (d *deployment) discover(ctx context.Context, r *Result) error {
	info, before, err := d.readInfos(ctx, infosPerNode)
	if info == nil {
		return err
	}
	d.info = info
	// A node that hangs may be in no list. Ask again: a transient loss does not repeat.
	n := min(infosPerNode*(len(info.GetNodes())+1), maxInfos)
	_, lost, _ := d.readInfos(ctx, n)
	if lost > 0 && before == 0 {
		_, lost, _ = d.readInfos(ctx, n)
	}
	switch {
	case ctx.Err() != nil:
		r.hidden("more time (--timeout) to see whether a node hangs")
	case lost > 0:
		r.problem(fmt.Sprintf("%d of %d requests on %s were lost, and the others were answered", lost, n,
			d.cfg.Prefix.Info()),
			"a node that hangs gets a part of the requests of all clients and answers none",
			"look for a node that is not in the list of the check nodes, or does not answer there, and restart it")
	}
	return nil
}

// readInfos sends n requests for info at the same time. It returns one of the answers, and if there are any, how many
// requests were lost; and one of the errors.
func (d *deployment) readInfos(ctx context.Context, n int) (info *messages.Info, lost int, err error) {
	type outcome struct {
		info *messages.Info
		err  error
	}
	all := make([]outcome, n)
	var asking sync.WaitGroup
	for i := range all {
		asking.Go(func() { all[i].info, all[i].err = d.readInfo(ctx) })
	}
	asking.Wait()
	for _, o := range all {
		switch {
		case o.err == nil:
			info = o.info
			continue
		case errors.Is(o.err, ask.ErrNoAnswer):
			lost++
		}
		err = o.err
	}
	if info == nil {
		lost = 0
	}
	return info, lost, err
}

// readInfo returns the info that any node gives.
func (d *deployment) readInfo(ctx context.Context) (*messages.Info, error) {
	info := &messages.Info{}
	return info, d.ask(ctx, d.cfg.Prefix.Info(), &messages.GetRequest{}, info)
}

func (r *Result) noOwner(shard uint32, reason string) {
	r.problem(fmt.Sprintf("shard %d has no owner: %s", shard, reason),
		"requests for its locks are refused",
		fmt.Sprintf(
			"wait ten seconds and look again; "+
				"if it stays so, the log of the nodes has the reason, at the lines with shard=%d", shard))
	r.as("HoldfastShardWithoutOwner")
}

// unowned returns the shards that no node owns.
func unowned(info *messages.Info) (without []uint32) {
	owned := make(map[uint32]bool)
	for _, n := range info.GetNodes() {
		for _, shard := range n.GetShards() {
			owned[shard] = true
		}
	}
	for shard := range info.GetShards() {
		if !owned[shard] {
			without = append(without, shard)
		}
	}
	return without
}

// noInfo reports why no node has answered.
func (d *deployment) noInfo(r *Result, err error) {
	r.see("no answer on %s", d.cfg.Prefix.Info())
	switch denied, is := errors.AsType[*ask.DeniedError](err); {
	case is:
		r.problem("this user lacks the "+denied.Error(),
			"each client asks there for the number of shards, and needs the answer",
			"give --inbox-prefix if the user has inboxes of its own; else add it to the user's permissions, "+
				"as docs/access.md shows them")
	case errors.Is(err, nats.ErrNoResponders):
		r.problem("no node answers: "+d.cfg.Prefix.Info()+" has no subscriber",
			"no lock can be taken, extended or released",
			"start a node with holdfast serve, or correct --prefix and the account of this user")
	default:
		r.problem("no node answers on "+d.cfg.Prefix.Info()+": "+err.Error(),
			"clients cannot find the owners of the shards",
			"look at the log and the load of the nodes")
	}
}

// compareVersions looks for an upgrade that was not finished.
func compareVersions(r *Result, info *messages.Info) {
	of := make(map[string][]string)
	for _, n := range info.GetNodes() {
		of[n.GetVersion()] = append(of[n.GetVersion()], display.Name(n.GetName()))
	}
	if len(of) < 2 {
		return
	}
	var parts []string
	for _, version := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s on %s", display.Name(version), strings.Join(of[version], ", ")))
	}
	r.warn("the nodes run different versions: "+strings.Join(parts, "; "),
		"an older node may not be able to open a shard that a newer one has had",
		"finish the upgrade: restart the older nodes with the new version, one after the other")
}

// absent returns the features of this version that the deployment does not have: its nodes are older.
func absent(info *messages.Info) (all []string) {
	for _, feature := range messages.Features {
		if !slices.Contains(info.GetFeatures(), feature) {
			all = append(all, feature)
		}
	}
	return all
}

// answers checks that each node answers, and names those that are lost.
func (d *deployment) answers(ctx context.Context, r *Result) {
	d.lost(r)
	expected := make(map[string]bool)
	for _, n := range d.info.GetNodes() {
		expected[n.GetName()] = true
	}
	nodes, times := make(map[string]*NodeStats), make(map[string]time.Duration)
	err := d.caller.Gather(ctx, answerTimeout, statsSubject, func(m *nats.Msg, took time.Duration) bool {
		name, stats := statsOf(d.cfg.Prefix, m.Data)
		if stats == nil {
			return false
		}
		nodes[name], times[name] = stats, took
		delete(expected, name)
		return len(expected) == 0
	})
	if denied, is := errors.AsType[*ask.DeniedError](err); is {
		r.hidden("%s", denied)
		return
	}
	d.nodes = nodes
	slowest, names := time.Duration(0), []string(nil)
	for _, name := range slices.Sorted(maps.Keys(times)) {
		names = append(names, display.Name(name))
		slowest = max(slowest, times[name])
		if times[name] >= d.cfg.Slow {
			r.warn(fmt.Sprintf("node %s takes %s to answer", display.Name(name), short(times[name])),
				"requests for its shards wait as long",
				"look at the load of its machine, and at its connection to NATS")
		}
	}
	r.see("%s, the slowest after %s", strings.Join(names, ", "), short(slowest))
	compareClocks(r, nodes)
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		r.problem(fmt.Sprintf("node %s does not answer", display.Name(name)),
			"requests for its shards wait until another node takes them over",
			"look at its process, its log and its connection to NATS; restart it if it hangs")
		r.as("HoldfastNodeDown")
	}
}

// lost names the nodes that were there and are not.
func (d *deployment) lost(r *Result) {
	for _, name := range slices.Sorted(maps.Keys(d.cfg.Lost)) {
		if slices.ContainsFunc(d.info.GetNodes(), func(n *messages.Node) bool { return n.GetName() == name }) {
			continue
		}
		r.warn(fmt.Sprintf("node %s is lost since %s", display.Name(name), d.cfg.Lost[name].UTC().Format("15:04:05 UTC")),
			"the deployment survives fewer failures without it",
			"look at its process, its log and its host, and start it again; one that was removed is named for a day")
		r.as("HoldfastNodeDown")
	}
}

// unknown notes why there are no statistics of nodes, and reports whether that is so.
func (d *deployment) unknown(r *Result) bool {
	switch {
	case d.info == nil:
		r.hidden(noNodeAnswers)
	case d.nodes == nil:
		r.hidden("permission to publish on %s", statsSubject)
	default:
		return false
	}
	return true
}
