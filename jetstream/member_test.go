package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/eventlog"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

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
	m := jstest.MustMembers(t, 3)
	for _, s := range m.Servers {
		jstest.WaitFor(t, "all members see one another",
			func() bool { return slices.Equal(s.Members(), []string{"n0", "n1", "n2"}) })
	}
	deployments, all := m.Leaderships(t, 3)
	if cfg := jstest.MustConfig(t, m.Conns[1], jstest.BucketName); cfg.Replicas != 3 {
		t.Errorf("%d replicas", cfg.Replicas)
	}
	for shard := range uint32(3) {
		jstest.WaitFor(t, "each bucket has one leader", func() bool { return len(leaders(all, shard)) == 1 })
		for i, l := range all {
			jstest.WaitFor(t, fmt.Sprintf("n%d leads shard %d", i, shard),
				func() bool { return l.Lead(jstest.Context(t), shard) == nil })
			jstest.WaitFor(t, "no other server does",
				func() bool { return slices.Equal(leaders(all, shard), []int{i}) })
		}
	}

	// n2 leads all buckets now. It resigns under load.
	buckets := []*jetstream.Bucket{deployments[0].Bucket(0), deployments[0].Bucket(1), deployments[0].Bucket(2)}
	last := uint64(0)
	appendAll := func() {
		for _, b := range buckets {
			jstest.MustAppend(t, b, last, jstest.Commit(1, last+1, 100))
		}
		last++
	}
	appendAll()
	m.Servers[2].Resign(t.Context())
	for shard := range uint32(3) {
		if who := leaders(all, shard); slices.Contains(who, 2) {
			t.Errorf("shard %d is led by %v after n2 has resigned", shard, who)
		}
	}
	// The other members may learn of the new leader later, or elect another one at once.
	for shard := range uint32(3) {
		jstest.WaitFor(t, fmt.Sprintf("another leads shard %d", shard),
			func() bool { return len(leaders(all, shard)) == 1 })
	}
	appendAll()
	m.Servers[2].Shutdown()
	appendAll()
	jstest.WaitFor(t, "two are left", func() bool { return slices.Equal(m.Servers[0].Members(), []string{"n0", "n1"}) })

	// It comes back with what it had, and alone it would not be let.
	again := m.Configs[2]
	again.ClusterListen, again.Routes = "", nil
	_, err := embedded.Start(again)
	jstest.WantError(t, err, embedded.ErrDataDir, again.DataDir, "member of a cluster", "--cluster-listen")
	jstest.MustAwaitQuorum(t, jstest.MustStart(t, func(c *embedded.Config) { *c = m.Configs[2] }))
}

// The leadership of buckets comes to the node that owns their shards, and not before it has had them for
// a while.
func TestLeadershipFollows(t *testing.T) {
	t.Parallel()
	m := jstest.MustMembers(t, 3)
	_, all := m.Leaderships(t, 3)
	jstest.WaitFor(t, "n1 leads everything", func() bool {
		return all[1].Lead(jstest.Context(t), 0) == nil && all[1].Lead(jstest.Context(t), 1) == nil &&
			all[1].Lead(jstest.Context(t), 2) == nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		all[0].Follow(ctx, func(shard uint32) bool { return shard != 1 })
		close(done)
	}()
	jstest.WaitFor(t, "n0 leads what it owns", func() bool { return all[0].Leads(0) && all[0].Leads(2) })
	cancel()
	<-done
	if who := leaders(all, 1); !slices.Equal(who, []int{1}) {
		t.Errorf("the shard that n0 does not own is led by %v", who)
	}
}

// The leader of a bucket transfers the leadership to the named member, if that has a current replica.
func TestLeadershipTransfer(t *testing.T) {
	t.Parallel()
	m := jstest.MustMembers(t, 3)
	_, all := m.Leaderships(t, 3)
	jstest.WaitFor(t, "n1 leads", func() bool { return all[1].Lead(jstest.Context(t), 0) == nil })
	jstest.WaitFor(t, "it knows of it", func() bool { return slices.Equal(leaders(all, 0), []int{1}) })
	if err := all[0].Transfer(t.Context(), 0, "n2"); err != nil {
		t.Errorf("transfer what another server leads: %v", err)
	}
	if err := all[1].Transfer(t.Context(), 0, "n7"); err == nil {
		t.Error("transferred to a server that does not exist")
	}
	if who := leaders(all, 0); !slices.Equal(who, []int{1}) {
		t.Errorf("the bucket is led by %v, want it to stay", who)
	}
	jstest.WaitFor(t, "n1 transfers", func() bool {
		return all[1].Transfer(jstest.Context(t), 0, "n2") == nil &&
			!all[1].Leads(0)
	})
	jstest.WaitFor(t, "n2 leads", func() bool { return slices.Equal(leaders(all, 0), []int{2}) })
	if err := (*jetstream.Leadership)(nil).Transfer(t.Context(), 0, "n2"); err != nil {
		t.Errorf("without a server: %v", err)
	}
}

func TestGrow(t *testing.T) {
	t.Parallel()
	m := jstest.MustMembers(t, 3)
	d, err := jstest.Open(t, m.Conns[0], jetstream.DeploymentConfig{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eventlog.Open(jstest.Context(t), m.Conns[0],
		eventlog.Config{Prefix: jstest.Prefix, Replicas: d.Replicas(), Retention: time.Hour, Log: jstest.Quiet()}); err != nil {
		t.Fatal(err)
	}
	jstest.MustFill(t, d.Bucket(0), 50)

	log := jstest.NewRecorder()
	grown := make(chan error)
	for _, nc := range m.Conns {
		go func() {
			d, err := jetstream.OpenDeployment(t.Context(), nc,
				jetstream.DeploymentConfig{Prefix: jstest.Prefix, Replicas: 3, Log: slog.New(log)})
			if err == nil {
				err = d.Grow(t.Context())
			}
			grown <- err
		}()
	}
	b, last := d.Bucket(0), uint64(50)
	for left := 3; left > 0; {
		jstest.MustAppend(t, b, last, jstest.Commit(1, last+1, 100))
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
	if got := jstest.MustReplay(t, b, 0); uint64(len(got.Records)) != last {
		t.Errorf("%d of %d records are left", len(got.Records), last)
	}
	if _, ok := log.Find("all its replicas"); !ok {
		t.Error("it is not logged")
	}
	for _, name := range []string{jstest.StreamName, "KV_HOLDFAST_1", "HOLDFAST_EVENTS"} {
		stream, err := jstest.MustJetStream(t, m.Conns[1]).Stream(jstest.Context(t), name)
		if err != nil {
			t.Fatal(err)
		}
		info := stream.CachedInfo()
		if info.Config.Replicas != 3 || len(info.Cluster.Replicas) != 2 {
			t.Errorf("%s has %d replicas: %+v", name, info.Config.Replicas, info.Cluster)
		}
	}

	// Back to one is not done, and asking for fewer changes nothing.
	log = jstest.NewRecorder()
	fewer, err := jstest.Open(t, m.Conns[0], jetstream.DeploymentConfig{Replicas: 1, Log: slog.New(log)})
	if err == nil {
		err = fewer.Grow(jstest.Context(t))
	}
	if _, ok := log.Find("keep their number of replicas"); err != nil || !ok || jstest.MustConfig(t, m.Conns[0], jstest.BucketName).Replicas != 3 {
		t.Errorf("asked for one replica: %v, warned %v", err, ok)
	}
}

// More replicas than servers are waited for too.
func TestReplicasAreWaitedFor(t *testing.T) {
	t.Parallel()
	m, log := jstest.MustMembers(t, 2), jstest.NewRecorder()
	done := make(chan error, 1)
	go func() {
		_, err := jetstream.OpenDeployment(t.Context(), m.Conns[0], jetstream.DeploymentConfig{
			Prefix: jstest.Prefix, Replicas: 3, Shards: 1, Members: m.Servers[0].Members, Log: slog.New(log),
		})
		done <- err
	}()
	jstest.WaitFor(t, "the wait is logged", func() bool {
		level, ok := log.Find("too few servers for the replicas")
		return ok && level == slog.LevelWarn
	})
	third := jstest.MemberConfigs(t, 3)[2]
	third.Routes = append(m.Configs[0].Routes, third.ClusterListen)
	jstest.MustAwaitQuorum(t, jstest.MustStart(t, func(c *embedded.Config) { *c = third }))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if cfg := jstest.MustConfig(t, m.Conns[1], jstest.BucketName); cfg.Replicas != 3 {
		t.Errorf("%d replicas", cfg.Replicas)
	}
}
