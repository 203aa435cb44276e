package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/process"
	"github.com/holdfast-io/holdfast/integration/peers/report"
)

// The modules, from the root of the repository, whose tools are the servers.
const (
	etcdModule = "clients/fence/fenceetcd/etcd"
	natsModule = "integration/peers"
	etcdTool   = "go.etcd.io/etcd/server/v3"
	natsTool   = "github.com/nats-io/nats-server/v2"
)

// build builds the programs that the peers need.
func (r *run) build(ctx context.Context) error {
	repository, err := process.Repository(ctx)
	if err != nil {
		return err
	}
	r.programs.Redis = "redis-server"
	if r.wants("etcd") {
		if r.programs.Etcd, err = r.tool(ctx, repository, etcdModule, etcdTool); err != nil {
			return err
		}
	}
	if r.wants("nats", "kv", "publish") {
		if r.programs.NATS, err = r.tool(ctx, repository, natsModule, natsTool); err != nil {
			return err
		}
	}
	r.logf("building holdfast")
	if err := r.buildHoldfast(ctx, repository, "holdfast", ""); err != nil || r.Against == "" {
		return err
	}
	r.logf("building holdfast at %s", r.Against)
	return r.buildHoldfast(ctx, repository, AgainstName, r.Against)
}

func (r *run) tool(ctx context.Context, repository, module, name string) (string, error) {
	r.logf("building %s", name)
	return process.Tool(ctx, filepath.Join(repository, module), name)
}

// buildHoldfast builds the working tree, or a commit.
func (r *run) buildHoldfast(ctx context.Context, repository, name, commit string) (err error) {
	into := filepath.Join(r.Dir, "bin-"+name)
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	h := peer.Holdfast{Name: name}
	if h.Version, err = process.Commit(ctx, repository, commit); err != nil {
		return err
	}
	if commit == "" {
		h.Program, err = process.Holdfast(ctx, repository, into)
	} else {
		h.Program, err = process.HoldfastAt(ctx, repository, commit, into)
	}
	r.holdfasts = append(r.holdfasts, h)
	return err
}

// wants reports whether one of the peers is to be measured.
func (r *run) wants(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(r.Peers, name) })
}

// environment returns one with an empty directory.
func (r *run) environment(nodes int) (peer.Environment, error) {
	dir, err := os.MkdirTemp(r.Dir, "data-")
	return peer.Environment{Dir: dir, Nodes: nodes, Connections: r.Connections, Programs: r.programs,
		Network: r.network}, err
}

// starter starts a deployment with the peers of these names.
type starter struct {
	names []string
	start func(context.Context, peer.Environment) (*peer.Deployment, error)
}

// starters returns those of the deployments that have so many nodes.
func (r *run) starters(nodes int) (all []starter) {
	for _, h := range r.holdfasts {
		all = append(all, starter{[]string{h.Name, h.Name + "-go", h.Name + "-keep"}, h.Start},
			starter{[]string{h.Name + "-cached"}, h.Start}) // by itself: it holds its locks on
	}
	for _, shards := range r.Sharded {
		h := r.holdfasts[0]
		h.Name, h.Shards = report.Sharded(shards), shards
		all = append(all, starter{[]string{h.Name}, h.Start})
	}
	all = append(all, starter{[]string{"etcd"}, peer.StartEtcd})
	if nodes == 1 {
		all = append(all, starter{[]string{"redis", "redis-rueidis"}, peer.StartRedis})
	}
	if nodes == 1 && r.network == nil {
		all = append(all, starter{[]string{"fsync"}, peer.StartDisk})
	}
	return append(all, starter{[]string{"nats", "kv", "publish"}, peer.StartNATS})
}

// deploy starts what is to be measured, and returns the peers in the order of the report. stop stops all of it, also
// after an error.
func (r *run) deploy(ctx context.Context, nodes int) (all []*competitor, stop func(), err error) {
	var deployments []*peer.Deployment
	stop = func() {
		for _, d := range deployments {
			d.Stop()
		}
	}
	wanted := slices.Clone(r.Peers)
	if r.Against != "" {
		wanted = append(wanted, AgainstName)
	}
	for _, shards := range r.Sharded {
		wanted = append(wanted, report.Sharded(shards))
	}
	for _, s := range r.starters(nodes) {
		if !slices.ContainsFunc(s.names, func(name string) bool { return slices.Contains(wanted, name) }) {
			continue
		}
		r.logf("starting %s on %s", strings.Join(s.names, ", "), count(nodes, "node"))
		env, err := r.environment(nodes)
		if err != nil {
			return nil, stop, err
		}
		d, err := s.start(ctx, env)
		deployments = append(deployments, d)
		if err != nil {
			return nil, stop, fmt.Errorf("start %s: %w", s.names[0], err)
		}
		if version := s.names[0] + ": " + d.Version; !slices.Contains(r.report.Versions, version) {
			r.report.Versions = append(r.report.Versions, version)
		}
		w := newWitness(r.Resources + 1)
		for _, p := range d.Peers {
			if slices.Contains(wanted, p.Name) && slices.Contains(s.names, p.Name) {
				all = append(all, &competitor{p, w})
			}
		}
	}
	return all, stop, nil
}

// machine describes the machine, as far as a reader of the figures has to know.
func machine(dir string) string {
	text := fmt.Sprintf("%d processors, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if inMemory(dir) {
		text += "; the data is in memory, so the figures say nothing about disks"
	}
	return text
}
