package jetstream_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	c := jstest.MustCluster(t)
	// At once: the cluster has not even elected anybody.
	d, err := jetstream.OpenDeployment(jstest.Context(t), c.Conns[0],
		jetstream.DeploymentConfig{Prefix: jstest.Prefix, Shards: 2, Replicas: 3, Log: jstest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if cfg := jstest.MustConfig(t, c.Conns[0], jstest.BucketName); cfg.Replicas != 3 {
		t.Fatalf("%d replicas", cfg.Replicas)
	}
	b := d.Bucket(0)
	last := uint64(0)
	next := func(b *jetstream.Bucket, epoch uint64) {
		t.Helper()
		jstest.MustAppend(t, b, last, jstest.Commit(epoch, last+1, 100))
		last++
	}

	// A reader lives on any replica, also on one that has not received the newest record yet.
	for i := range 60 {
		next(b, 1)
		got := jstest.MustReplay(t, jstest.MustOpen(t, c.Conns[i%3], 0).Bucket(0), 0)
		if got.Last != last || uint64(len(got.Records)) != last {
			t.Fatalf("%d are confirmed, and a replay finds %d up to %d", last, len(got.Records), got.Last)
		}
	}
	for i := range 200 {
		if i%50 == 25 {
			c.StepDown(t, c.Conns[1])
		}
		next(b, 1)
	}
	other := jstest.MustOpen(t, c.Conns[1], 0).Bucket(0)
	next(other, 2)
	jstest.WantError(t, b.Append(jstest.Context(t), last-1, jstest.Commit(1, last, 100)), journal.ErrConflict,
		"epoch 2")

	// The leader stops, as for a rolling restart, and the writer goes on elsewhere.
	leader := c.Leader(t)
	if leader < 0 {
		t.Fatal("no leader")
	}
	writer := jstest.MustOpen(t, c.Conns[(leader+1)%3], 0).Bucket(0)
	c.Servers[leader].Shutdown()
	for range 50 {
		next(writer, 3)
	}
	got := jstest.MustReplay(t, jstest.MustOpen(t, c.Conns[(leader+2)%3], 0).Bucket(0), 0)
	for i, r := range got.Records {
		if r.GetCommit().GetNumber() != uint64(i)+1 || got.Positions[i] != uint64(i)+1 {
			t.Errorf("%s stands at %d as number %d", r.Describe(), got.Positions[i], i+1)
		}
	}
	if uint64(len(got.Records)) != last {
		t.Errorf("%d of %d are left", len(got.Records), last)
	}
}
