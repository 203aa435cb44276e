package jetstream_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

// backup is a stream as `nats stream backup` keeps it.
type backup struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
	chunks [][]byte
}

func mustBackUp(t *testing.T, nc *nats.Conn, stream string) backup {
	t.Helper()
	inbox := nc.NewInbox()
	chunks, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	var b backup
	mustAsk(t, nc, "$JS.API.STREAM.SNAPSHOT."+stream, map[string]any{"deliver_subject": inbox, "no_consumers": true}, &b)
	for {
		m, err := chunks.NextMsg(jstest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Data) == 0 {
			return b
		}
		b.chunks = append(b.chunks, m.Data)
		if m.Reply == "" {
			continue
		}
		if err := m.Respond(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// mustRestore makes the stream anew with so many replicas.
func mustRestore(t *testing.T, nc *nats.Conn, stream string, b backup, replicas int) {
	t.Helper()
	var config map[string]any
	if err := json.Unmarshal(b.Config, &config); err != nil {
		t.Fatal(err)
	}
	config["num_replicas"] = replicas
	var to struct {
		Deliver string `json:"deliver_subject"`
	}
	mustAsk(t, nc, "$JS.API.STREAM.RESTORE."+stream, map[string]any{"config": config, "state": b.State}, &to)
	for _, chunk := range append(b.chunks, nil) { // an empty one ends it
		jstest.WaitFor(t, "a piece to be taken", func() bool { // as soon as this server knows where the restoring one listens
			_, err := nc.Request(to.Deliver, chunk, jstest.Timeout)
			if err != nil && !errors.Is(err, nats.ErrNoResponders) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
}

func mustAsk(t *testing.T, nc *nats.Conn, subject string, request, answer any) {
	t.Helper()
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	m, err := nc.Request(subject, data, jstest.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	var refused struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &refused); err != nil || refused.Error != nil {
		t.Fatalf("%s: %v %s", subject, err, refused.Error)
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		t.Fatal(err)
	}
}

// The buckets of a single node are moved into a cluster as docs/cli.md has it: the members ask for more replicas
// than there are servers, and so make no buckets while these are restored.
func TestMoveToACluster(t *testing.T) {
	t.Parallel()
	single := jstest.MustConnect(t, jstest.MustStart(t))
	d := jstest.MustOpen(t, single, 2)
	jstest.MustFill(t, d.Bucket(0), 5)
	jstest.MustFill(t, d.Bucket(1), 7)
	buckets := []string{"KV_HOLDFAST_0", "KV_HOLDFAST_1"}
	var backups []backup
	for _, stream := range buckets {
		backups = append(backups, mustBackUp(t, single, stream))
	}

	m, log := jstest.MustMembers(t, 3), jstest.NewRecorder()
	type opened struct {
		*jetstream.Deployment
		error
	}
	done := make(chan opened, 1)
	go func() {
		d, err := jetstream.OpenDeployment(t.Context(), m.Conns[0], jetstream.DeploymentConfig{
			Prefix: jstest.Prefix, Replicas: 5, Shards: 2, Members: m.Servers[0].Members, Log: slog.New(log),
		})
		done <- opened{d, err}
	}()
	jstest.WaitFor(t, "the members to wait", func() bool {
		_, ok := log.Find("too few servers for the replicas")
		return ok
	})
	for i, stream := range slices.Backward(buckets) {
		mustRestore(t, m.Conns[1], stream, backups[i], 3)
	}
	select {
	case moved := <-done:
		if moved.error != nil {
			t.Fatal(moved.error)
		}
		for shard, last := range []uint64{5, 7} {
			if got := jstest.MustReplay(t, moved.Bucket(uint32(shard)), 0); got.Last != last {
				t.Errorf("shard %d holds\n%s", shard, got.Describe())
			}
			jstest.MustAppend(t, moved.Bucket(uint32(shard)), last, jstest.Commit(2, last+1, 0))
		}
	case <-time.After(2 * jstest.Timeout):
		t.Fatal("the members do not open what was restored")
	}
	if cfg := jstest.MustConfig(t, m.Conns[2], jstest.BucketName); cfg.Replicas != 3 {
		t.Errorf("%d replicas", cfg.Replicas)
	}
}
