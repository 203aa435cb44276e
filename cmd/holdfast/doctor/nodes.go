package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// settling is how long a shard may be without an owner: nodes take over those of a lost one within a few seconds, and a
	// planned move takes less.
	settling = 3 * time.Second
	// lookAgain is the pause between two looks.
	lookAgain = 250 * time.Millisecond
	// asksPerNode is how often any node is asked at the same time what there is, for each node: one that hangs gets none of the
	// requests by chance in one of three thousand runs. mostAsks bounds the requests.
	asksPerNode, mostAsks = 8, 256
	// statsSubject is the one on which the nodes tell their statistics, as NATS services do.
	statsSubject = "$SRV.STATS.holdfast"
	// noNodeAnswers is why a check cannot be made.
	noNodeAnswers = "a node that answers"
)

// shards asks what there is: the nodes, their versions, and which shard each owns.
func (p *patient) shards(ctx context.Context, r *Result) {
	err := p.discover(ctx, r)
	for end := time.Now().Add(settling); errors.Is(err, nats.ErrNoResponders) && time.Now().Before(end) && connect.Pause(ctx, lookAgain); {
		err = p.discover(ctx, r) // nodes that have just been started follow their NATS server after a moment
	}
	if err != nil {
		p.noInfo(r, err)
		return
	}
	without := unowned(p.info)
	for end := time.Now().Add(settling); len(without) > 0 && time.Now().Before(end) && connect.Pause(ctx, lookAgain); {
		if info, err := p.askInfo(ctx); err == nil {
			p.info, without = info, unowned(info)
		}
	}
	r.see("%s of %s", display.Count(int(p.info.GetShards()), "shard"), display.Count(len(p.info.GetNodes()), "node"))
	for _, shard := range without {
		r.noOwner(shard, "no node says that it owns it")
	}
	p.compareVersions(r)
	if absent := p.absent(); len(absent) > 0 {
		r.warn("the nodes are older than this command: they lack "+strings.Join(absent, ", "),
			"this command cannot check all that it checks of newer nodes",
			fmt.Sprintf("upgrade the nodes, or use the command of their version, %s", display.Name(p.info.GetVersion())))
	}
}

// discover asks several times, because any node answers: one that hangs takes its part of the requests and answers none.
func (p *patient) discover(ctx context.Context, r *Result) error {
	info, before, err := p.askMany(ctx, asksPerNode)
	if info == nil {
		return err
	}
	p.info = info
	// A node that hangs may be in no list. What passes by itself is not lost twice.
	asks := min(asksPerNode*(len(info.GetNodes())+1), mostAsks)
	_, lost, _ := p.askMany(ctx, asks)
	if lost > 0 && before == 0 {
		_, lost, _ = p.askMany(ctx, asks)
	}
	switch {
	case ctx.Err() != nil:
		r.hidden("more time (--timeout) to see whether a node hangs")
	case lost > 0:
		r.problem(fmt.Sprintf("%d of %d requests on %s were lost, and the others were answered", lost, asks, p.cfg.Prefix.Info()),
			"a node that hangs gets a part of the requests of all clients and answers none",
			"look for a node that is not in the list of the check nodes, or does not answer there, and restart it")
	}
	return nil
}

// askMany asks any node so many times at the same time. It returns one of the answers, and if there are any, how many requests
// were lost; and one of the errors.
func (p *patient) askMany(ctx context.Context, asks int) (info *messages.Info, lost int, err error) {
	type outcome struct {
		info *messages.Info
		err  error
	}
	all := make([]outcome, asks)
	var asking sync.WaitGroup
	for i := range all {
		asking.Go(func() { all[i].info, all[i].err = p.askInfo(ctx) })
	}
	asking.Wait()
	for _, o := range all {
		switch {
		case o.err == nil:
			info = o.info
			continue
		case errors.Is(o.err, errNoAnswer):
			lost++
		}
		err = o.err
	}
	if info == nil {
		lost = 0
	}
	return info, lost, err
}

// askInfo asks any node what there is.
func (p *patient) askInfo(ctx context.Context) (*messages.Info, error) {
	info := &messages.Info{}
	return info, p.asker.ask(ctx, p.cfg.Prefix.Info(), &messages.GetRequest{}, info)
}

func (r *Result) noOwner(shard uint32, reason string) {
	r.problem(fmt.Sprintf("shard %d has no owner: %s", shard, reason),
		"requests for its locks are refused",
		fmt.Sprintf("wait ten seconds and look again; if it stays so, the log of the nodes has the reason, at the lines with shard=%d", shard))
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

// noInfo says why no node has told what there is.
func (p *patient) noInfo(r *Result, err error) {
	r.see("no answer on %s", p.cfg.Prefix.Info())
	switch denied, is := errors.AsType[*deniedError](err); {
	case is:
		r.problem("this user lacks the "+denied.Error(),
			"each client asks there for the number of shards, and needs the answer",
			"add it to the user's permissions, as docs/operating.md shows them")
	case errors.Is(err, nats.ErrNoResponders):
		r.problem("no node answers: "+p.cfg.Prefix.Info()+" has no subscriber",
			"no lock can be taken, extended or released",
			"start a node with holdfast serve, or correct --prefix and the account of this user")
	default:
		r.problem("no node answers on "+p.cfg.Prefix.Info()+": "+err.Error(),
			"clients cannot find the owners of the shards",
			"look at the log and the load of the nodes")
	}
}

// compareVersions looks for an upgrade that was not finished.
func (p *patient) compareVersions(r *Result) {
	of := make(map[string][]string)
	for _, n := range p.info.GetNodes() {
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

// absent returns the features of the nodes of this version that the deployment does not have: its nodes are older.
func (p *patient) absent() (all []string) {
	for _, feature := range messages.Features {
		if !slices.Contains(p.info.GetFeatures(), feature) {
			all = append(all, feature)
		}
	}
	return all
}

// nodeStats is what a node tells of itself; see docs/operating.md.
type nodeStats struct {
	Held       int64  `json:"held"`
	Waiting    int64  `json:"waiting"`
	MaxHeld    int64  `json:"max_held"`
	MaxWaiting int64  `json:"max_waiting"`
	MaxQueue   int    `json:"max_queue"`
	LateTokens uint64 `json:"late_tokens"`
	// Storage is nil if NATS is not in the process of the node.
	Storage *storage `json:"storage"`
}

// storage is what a node stores on.
type storage struct {
	Synced     bool   `json:"synced"`
	FreeBytes  uint64 `json:"free_bytes"`
	TotalBytes uint64 `json:"total_bytes"`
	Fault      string `json:"fault"`
	// Certificates is when those in use end, by what they are for.
	Certificates map[string]time.Time `json:"certificates"`
}

// statsAnswer is the answer of one node, as NATS services give it.
type statsAnswer struct {
	Metadata  map[string]string `json:"metadata"`
	Endpoints []struct {
		Data *nodeStats `json:"data"`
	} `json:"endpoints"`
}

// answers asks each node by itself.
func (p *patient) answers(ctx context.Context, r *Result) {
	expected := make(map[string]bool)
	for _, n := range p.info.GetNodes() {
		expected[n.GetName()] = true
	}
	nodes, times := make(map[string]*nodeStats), make(map[string]time.Duration)
	err := p.asker.gather(ctx, statsSubject, func(m *nats.Msg, took time.Duration) bool {
		name, stats := p.statsOf(m.Data)
		if stats == nil {
			return false
		}
		nodes[name], times[name] = stats, took
		delete(expected, name)
		return len(expected) == 0
	})
	if denied, is := errors.AsType[*deniedError](err); is {
		r.hidden("%s", denied)
		return
	}
	p.nodes = nodes
	slowest := time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(times)) {
		slowest = max(slowest, times[name])
		if times[name] >= p.cfg.Slow {
			r.warn(fmt.Sprintf("node %s takes %s to answer", display.Name(name), short(times[name])),
				"requests for its shards wait as long",
				"look at the load of its machine, and at its connection to NATS")
		}
	}
	r.see("%s, the slowest after %s", strings.Join(p.names(), ", "), short(slowest))
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		r.problem(fmt.Sprintf("node %s does not answer", display.Name(name)),
			"requests for its shards wait until another node takes them over",
			"look at its process, its log and its connection to NATS; restart it if it hangs")
	}
}

// unasked notes why the nodes have told nothing of themselves, and reports whether that is so.
func (p *patient) unasked(r *Result) bool {
	switch {
	case p.info == nil:
		r.hidden(noNodeAnswers)
	case p.nodes == nil:
		r.hidden("permission to publish on %s", statsSubject)
	default:
		return false
	}
	return true
}

// statsOf returns the statistics of a node of this deployment; nil if they are of something else.
func (p *patient) statsOf(data []byte) (name string, stats *nodeStats) {
	var a statsAnswer
	if json.Unmarshal(data, &a) != nil || a.Metadata["prefix"] != string(p.cfg.Prefix) || len(a.Endpoints) == 0 {
		return "", nil
	}
	return a.Metadata["node"], a.Endpoints[0].Data
}

// names are those of the nodes that have answered, for people.
func (p *patient) names() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
		names = append(names, display.Name(name))
	}
	return names
}
