package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest/ports"
	"github.com/holdfast-io/holdfast/jetstream"
)

// members are servers that have found one another by their settings alone.
type members struct {
	configs []jetstream.ServerConfig
	servers []*jetstream.Server
	conns   []*nats.Conn
}

// memberConfigs are the settings of n members, n0 and so on.
func memberConfigs(t *testing.T, n int) []jetstream.ServerConfig {
	t.Helper()
	var configs []jetstream.ServerConfig
	routes := ports.Free(t, n)
	for i, own := range routes {
		configs = append(configs, jetstream.ServerConfig{
			Name: fmt.Sprintf("n%d", i), Listen: "127.0.0.1:-1", ClusterListen: own, Routes: routes, DataDir: t.TempDir(), Log: quiet(),
		})
	}
	return configs
}

func mustMembers(t *testing.T, n int) *members {
	t.Helper()
	m := &members{configs: memberConfigs(t, n)}
	for _, cfg := range m.configs {
		m.servers = append(m.servers, mustStart(t, func(c *jetstream.ServerConfig) { *c = cfg }))
	}
	for _, s := range m.servers {
		mustAwaitQuorum(t, s)
		m.conns = append(m.conns, mustConnect(t, s))
	}
	return m
}

func mustAwaitQuorum(t *testing.T, s *jetstream.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	if err := s.AwaitQuorum(ctx); err != nil {
		t.Fatal(err)
	}
}

// leaderships opens the deployment on each member.
func (m *members) leaderships(t *testing.T, replicas int) (deployments []*jetstream.Deployment, leaderships []*jetstream.Leadership) {
	t.Helper()
	for i, s := range m.servers {
		d, err := open(t, m.conns[i], jetstream.DeploymentConfig{Shards: 3, Replicas: replicas, Members: s.Members})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Leadership(d)
		if err != nil {
			t.Fatal(err)
		}
		deployments, leaderships = append(deployments, d), append(leaderships, l)
	}
	return deployments, leaderships
}

// leaders returns which members lead the shard's bucket.
func leaders(all []*jetstream.Leadership, shard uint32) (who []int) {
	for i, l := range all {
		if l.Leads(shard) {
			who = append(who, i)
		}
	}
	return who
}

func TestMembers(t *testing.T) {
	t.Parallel()
	m := mustMembers(t, 3)
	for _, s := range m.servers {
		waitFor(t, "everybody sees everybody", func() bool { return slices.Equal(s.Members(), []string{"n0", "n1", "n2"}) })
	}
	deployments, all := m.leaderships(t, 3)
	if cfg := mustConfig(t, m.conns[1], bucketName); cfg.Replicas != 3 {
		t.Errorf("%d replicas", cfg.Replicas)
	}
	for shard := range uint32(3) {
		waitFor(t, "each bucket has one leader", func() bool { return len(leaders(all, shard)) == 1 })
		for i, l := range all {
			waitFor(t, fmt.Sprintf("n%d leads shard %d", i, shard), func() bool { return l.Lead(testContext(t), shard) == nil })
			waitFor(t, "nobody else does", func() bool { return slices.Equal(leaders(all, shard), []int{i}) })
		}
	}

	// n2 leads all buckets now. It resigns while somebody writes.
	buckets := []*jetstream.Bucket{deployments[0].Bucket(0), deployments[0].Bucket(1), deployments[0].Bucket(2)}
	last := uint64(0)
	appendAll := func() {
		for _, b := range buckets {
			mustAppend(t, b, last, commit(1, last+1, 100))
		}
		last++
	}
	appendAll()
	m.servers[2].Resign(t.Context())
	for shard := range uint32(3) {
		if who := leaders(all, shard); slices.Contains(who, 2) {
			t.Errorf("shard %d is led by %v after n2 has resigned", shard, who)
		}
	}
	// Whom n2 has heard to be the leader may have to tell the others yet, or another one is elected at once.
	for shard := range uint32(3) {
		waitFor(t, fmt.Sprintf("another leads shard %d", shard), func() bool { return len(leaders(all, shard)) == 1 })
	}
	appendAll()
	m.servers[2].Shutdown()
	appendAll()
	waitFor(t, "two are left", func() bool { return slices.Equal(m.servers[0].Members(), []string{"n0", "n1"}) })

	// It comes back with what it had, and alone it would not be let.
	again := m.configs[2]
	again.ClusterListen, again.Routes = "", nil
	_, err := jetstream.StartServer(again)
	wantError(t, err, jetstream.ErrDataDir, again.DataDir, "member of a cluster", "--cluster-listen")
	mustAwaitQuorum(t, mustStart(t, func(c *jetstream.ServerConfig) { *c = m.configs[2] }))
}

// The leadership of buckets comes to the node that owns their shards, and not before it has had them for
// a while.
func TestLeadershipFollows(t *testing.T) {
	t.Parallel()
	m := mustMembers(t, 3)
	_, all := m.leaderships(t, 3)
	waitFor(t, "n1 leads everything", func() bool {
		return all[1].Lead(testContext(t), 0) == nil && all[1].Lead(testContext(t), 1) == nil && all[1].Lead(testContext(t), 2) == nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		all[0].Follow(ctx, func(shard uint32) bool { return shard != 1 })
		close(done)
	}()
	waitFor(t, "n0 leads what it owns", func() bool { return all[0].Leads(0) && all[0].Leads(2) })
	cancel()
	<-done
	if who := leaders(all, 1); !slices.Equal(who, []int{1}) {
		t.Errorf("the shard that n0 does not own is led by %v", who)
	}
}

// A leadership is ceded to the member that is named, by who has it, and only if the member can have it.
func TestLeadershipIsCeded(t *testing.T) {
	t.Parallel()
	m := mustMembers(t, 3)
	_, all := m.leaderships(t, 3)
	waitFor(t, "n1 leads", func() bool { return all[1].Lead(testContext(t), 0) == nil })
	waitFor(t, "it knows of it", func() bool { return slices.Equal(leaders(all, 0), []int{1}) })
	if err := all[0].Cede(t.Context(), 0, "n2"); err != nil {
		t.Errorf("cede what others have: %v", err)
	}
	if err := all[1].Cede(t.Context(), 0, "n7"); err == nil {
		t.Error("ceded to somebody who is not there")
	}
	if who := leaders(all, 0); !slices.Equal(who, []int{1}) {
		t.Errorf("the bucket is led by %v, want it to stay", who)
	}
	waitFor(t, "n1 cedes", func() bool { return all[1].Cede(testContext(t), 0, "n2") == nil && !all[1].Leads(0) })
	waitFor(t, "n2 leads", func() bool { return slices.Equal(leaders(all, 0), []int{2}) })
	if err := (*jetstream.Leadership)(nil).Cede(t.Context(), 0, "n2"); err != nil {
		t.Errorf("without a server: %v", err)
	}
}

func TestMemberOfItsOwn(t *testing.T) {
	t.Parallel()
	alone := mustStart(t, func(c *jetstream.ServerConfig) { c.DataDir = filepath.Join(c.DataDir, `a [b]*?\c`) }) // no pattern
	mustAwaitQuorum(t, alone)
	alone.Resign(t.Context())
	nc := mustConnect(t, alone)
	d := mustOpen(t, nc, 1)
	mustFill(t, d.Bucket(0), 1)
	l, err := alone.Leadership(d)
	if err != nil || !l.Leads(0) {
		t.Errorf("a server that is alone does not lead its bucket: %v", err)
	}
	if (*jetstream.Leadership)(nil).Leads(0) {
		t.Error("nobody leads")
	}
	alone.Shutdown()

	_, err = jetstream.StartServer(jetstream.ServerConfig{
		Name: "test", Listen: "127.0.0.1:-1", DataDir: alone.DataDir(), Log: quiet(),
		ClusterListen: "127.0.0.1:-1", Routes: ports.Free(t, 1),
	})
	wantError(t, err, jetstream.ErrDataDir, alone.DataDir(), "was alone", "another directory", "nats stream backup and restore")
}

func TestGrow(t *testing.T) {
	t.Parallel()
	m := mustMembers(t, 3)
	d, err := open(t, m.conns[0], jetstream.DeploymentConfig{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Events(testContext(t), m.conns[0], jetstream.EventsConfig{Retention: time.Hour, Log: quiet()}); err != nil {
		t.Fatal(err)
	}
	mustFill(t, d.Bucket(0), 50)

	log := newRecorder()
	grown := make(chan error)
	for _, nc := range m.conns {
		go func() {
			d, err := jetstream.OpenDeployment(t.Context(), nc, jetstream.DeploymentConfig{Prefix: prefix, Replicas: 3, Log: slog.New(log)})
			if err == nil {
				err = d.Grow(t.Context())
			}
			grown <- err
		}()
	}
	b, last := d.Bucket(0), uint64(50)
	for left := 3; left > 0; {
		mustAppend(t, b, last, commit(1, last+1, 100))
		last++
		select {
		case err := <-grown:
			if err != nil {
				t.Error(err)
			}
			left--
		default:
		}
	}
	if got := mustReplay(t, b, 0); uint64(len(got.records)) != last {
		t.Errorf("%d of %d records are left", len(got.records), last)
	}
	if _, ok := log.find("all its replicas"); !ok {
		t.Error("nobody is told")
	}
	for _, name := range []string{streamName, "KV_HOLDFAST_1", "HOLDFAST_EVENTS"} {
		stream, err := mustJetStream(t, m.conns[1]).Stream(testContext(t), name)
		if err != nil {
			t.Fatal(err)
		}
		info := stream.CachedInfo()
		if info.Config.Replicas != 3 || len(info.Cluster.Replicas) != 2 {
			t.Errorf("%s has %d replicas: %+v", name, info.Config.Replicas, info.Cluster)
		}
	}

	// Back to one is not done, and asking for fewer changes nothing.
	log = newRecorder()
	fewer, err := open(t, m.conns[0], jetstream.DeploymentConfig{Replicas: 1, Log: slog.New(log)})
	if err == nil {
		err = fewer.Grow(testContext(t))
	}
	if _, ok := log.find("keep their number of replicas"); err != nil || !ok || mustConfig(t, m.conns[0], bucketName).Replicas != 3 {
		t.Errorf("asked for one replica: %v, told %v", err, ok)
	}
}

// A member that has nobody to elect a leader with says so, and goes on as soon as it has.
func TestQuorumIsWaitedFor(t *testing.T) {
	t.Parallel()
	configs, log := memberConfigs(t, 3), newRecorder()
	configs[0].Log = slog.New(log)
	first := mustStart(t, func(c *jetstream.ServerConfig) { *c = configs[0] })
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	wantError(t, first.AwaitQuorum(ctx), jetstream.ErrNoJetStream, "no quorum", "[n0]")

	done := make(chan error, 1)
	go func() { done <- first.AwaitQuorum(t.Context()) }()
	waitFor(t, "somebody is told", func() bool {
		level, ok := log.find("no quorum")
		return ok && level == slog.LevelWarn
	})
	for _, cfg := range configs[1:] {
		mustStart(t, func(c *jetstream.ServerConfig) { *c = cfg })
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// More replicas than servers are waited for too.
func TestReplicasAreWaitedFor(t *testing.T) {
	t.Parallel()
	m, log := mustMembers(t, 2), newRecorder()
	done := make(chan error, 1)
	go func() {
		_, err := jetstream.OpenDeployment(t.Context(), m.conns[0], jetstream.DeploymentConfig{
			Prefix: prefix, Replicas: 3, Shards: 1, Members: m.servers[0].Members, Log: slog.New(log),
		})
		done <- err
	}()
	waitFor(t, "somebody is told", func() bool {
		level, ok := log.find("too few servers for the replicas")
		return ok && level == slog.LevelWarn
	})
	third := memberConfigs(t, 3)[2]
	third.Routes = append(m.configs[0].Routes, third.ClusterListen)
	mustAwaitQuorum(t, mustStart(t, func(c *jetstream.ServerConfig) { *c = third }))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if cfg := mustConfig(t, m.conns[1], bucketName); cfg.Replicas != 3 {
		t.Errorf("%d replicas", cfg.Replicas)
	}
}

func TestTwoMembersOfOneName(t *testing.T) {
	t.Parallel()
	configs := memberConfigs(t, 2)
	configs[1].Name = configs[0].Name
	s := mustStart(t, func(c *jetstream.ServerConfig) { *c = configs[0] })
	mustStart(t, func(c *jetstream.ServerConfig) { *c = configs[1] })
	wantError(t, s.AwaitQuorum(testContext(t)), jetstream.ErrConfig, "another member", "n0", "--name")
}

func TestMemberMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*jetstream.ServerConfig)
		kind   error
		words  string
	}{
		"NoListen":     {func(c *jetstream.ServerConfig) { c.ClusterListen = "" }, jetstream.ErrConfig, "--cluster-listen"},
		"NoRoutes":     {func(c *jetstream.ServerConfig) { c.Routes = nil }, jetstream.ErrConfig, "--routes"},
		"NoName":       {func(c *jetstream.ServerConfig) { c.Name = "" }, jetstream.ErrConfig, "--name"},
		"Remote":       {func(c *jetstream.ServerConfig) { c.ClusterListen = "0.0.0.0:6222" }, jetstream.ErrListen, "--allow-remote"},
		"NoPort":       {func(c *jetstream.ServerConfig) { c.ClusterListen = "127.0.0.1" }, jetstream.ErrListen, "host:port"},
		"RouteNoPort":  {func(c *jetstream.ServerConfig) { c.Routes = []string{"127.0.0.1"} }, jetstream.ErrConfig, "HOST:PORT"},
		"RouteAnyPort": {func(c *jetstream.ServerConfig) { c.Routes = []string{"127.0.0.1:0"} }, jetstream.ErrConfig, "HOST:PORT"},
		"RouteEmpty":   {func(c *jetstream.ServerConfig) { c.Routes = []string{"127.0.0.1:6222", ""} }, jetstream.ErrConfig, "HOST:PORT"},
		"RouteNowhere": {func(c *jetstream.ServerConfig) { c.Routes = []string{"0.0.0.0:6222"} }, jetstream.ErrConfig, "leads nowhere"},
		"RouteLogin":   {func(c *jetstream.ServerConfig) { c.Routes = []string{"nats://me:secret@127.0.0.1:6222"} }, jetstream.ErrConfig, "login"},
		"File":         {func(c *jetstream.ServerConfig) { c.Listen, c.DataDir, c.ConfigFile = "", "", "nats.conf" }, jetstream.ErrConfig, "cluster.routes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := memberConfigs(t, 2)[0]
			test.change(&cfg)
			s, err := jetstream.StartServer(cfg)
			if err == nil {
				s.Shutdown()
			}
			wantError(t, err, test.kind, test.words)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q shows a password", err)
			}
		})
	}
}
