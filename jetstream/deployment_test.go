package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

func open(tb testing.TB, nc *nats.Conn, cfg jetstream.DeploymentConfig) (*jetstream.Deployment, error) {
	tb.Helper()
	if cfg.Prefix == "" {
		cfg.Prefix = prefix
	}
	if cfg.Log == nil {
		cfg.Log = quiet()
	}
	return jetstream.OpenDeployment(testContext(tb), nc, cfg)
}

func mustConfig(tb testing.TB, nc *nats.Conn, bucket string) natsjs.StreamConfig {
	tb.Helper()
	stream, err := mustJetStream(tb, nc).Stream(testContext(tb), "KV_"+bucket)
	if err != nil {
		tb.Fatal(err)
	}
	return stream.CachedInfo().Config
}

func mustRemove(tb testing.TB, nc *nats.Conn, buckets ...string) {
	tb.Helper()
	for _, bucket := range buckets {
		if err := mustJetStream(tb, nc).DeleteStream(testContext(tb), "KV_"+bucket); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestDeploymentIsMade(t *testing.T) {
	t.Parallel()
	nc := mustConnect(t, mustStart(t))
	d := mustOpen(t, nc, 0)
	if d.Shards() != jetstream.DefaultShards {
		t.Errorf("%d shards", d.Shards())
	}
	for shard := range d.Shards() {
		name := fmt.Sprintf("HOLDFAST_%d", shard)
		if got := d.Bucket(shard).Name(); got != name {
			t.Errorf("shard %d has bucket %s", shard, got)
		}
		cfg := mustConfig(t, nc, name)
		if cfg.AllowDirect || !cfg.DenyDelete || !cfg.AllowRollup || cfg.MaxMsgsPerSubject != 1 || cfg.MaxBytes != -1 ||
			cfg.MaxMsgs != -1 || cfg.Discard != natsjs.DiscardNew || cfg.Storage != natsjs.FileStorage ||
			cfg.Replicas != 1 || cfg.Duplicates != 100*time.Millisecond || fmt.Sprint(cfg.Subjects) != "[$KV."+name+".>]" {
			t.Errorf("%s is made wrong: %+v", name, cfg)
		}
		for key, want := range map[string]string{"holdfast.shards": fmt.Sprint(jetstream.DefaultShards), "holdfast.format": "1", "holdfast.prefix": "holdfast"} {
			if got := cfg.Metadata[key]; got != want {
				t.Errorf("%s has %s=%q, want %q", name, key, got, want)
			}
		}
		mustAppend(t, d.Bucket(shard), 0, commit(1, 1, 10))
	}
	kv, err := mustJetStream(t, nc).KeyValue(testContext(t), bucketName)
	if err != nil {
		t.Fatal(err)
	}
	if entry, err := kv.Get(testContext(t), "journal.1"); err != nil || entry.Revision() != 1 {
		t.Errorf("KV clients read %v, error %v", entry, err)
	}
}

func TestDeploymentIsOpenedAgain(t *testing.T) {
	t.Parallel()
	nc := mustConnect(t, mustStart(t))
	mustAppend(t, mustOpen(t, nc, 3).Bucket(2), 0, commit(1, 1, 10))
	for _, shards := range []uint32{0, 3} {
		d := mustOpen(t, nc, shards)
		if d.Shards() != 3 {
			t.Errorf("asked for %d, got %d shards", shards, d.Shards())
		}
		if got := mustReplay(t, d.Bucket(2), 0); len(got.records) != 1 {
			t.Errorf("asked for %d, got %d records", shards, len(got.records))
		}
	}
	_, err := open(t, nc, jetstream.DeploymentConfig{Shards: 4})
	wantError(t, err, jetstream.ErrShards, `"holdfast"`, "made with 3, not 4", "ask for 3", "another prefix")

	other, err := open(t, nc, jetstream.DeploymentConfig{Prefix: "team-a.locks", Shards: 2})
	if err != nil || other.Bucket(1).Name() != "TEAM-A_LOCKS_1" {
		t.Errorf("another prefix beside it: %v", err)
	}
}

func TestDeploymentIsMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	s := mustStart(t)
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			nc, err := s.Connect()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			d, err := open(t, nc, jetstream.DeploymentConfig{Shards: 5})
			if err != nil || d.Shards() != 5 {
				t.Errorf("error %v", err)
			}
		})
	}
	nodes.Wait()
}

func TestDeploymentIsCompleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		gone  []string
		asked uint32
	}{
		"FewMissing":      {[]string{"HOLDFAST_0", "HOLDFAST_1"}, 0},
		"MostMissing":     {[]string{"HOLDFAST_0", "HOLDFAST_1", "HOLDFAST_2"}, 0},
		"MiddleMissing":   {[]string{"HOLDFAST_0", "HOLDFAST_2"}, 4},
		"OnlyZeroMissing": {[]string{"HOLDFAST_0"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc := mustConnect(t, mustStart(t))
			mustOpen(t, nc, 4)
			mustRemove(t, nc, test.gone...)
			d := mustOpen(t, nc, test.asked)
			if d.Shards() != 4 {
				t.Errorf("%d shards", d.Shards())
			}
			for shard := range d.Shards() {
				mustAppend(t, d.Bucket(shard), 0, commit(1, 1, 10))
			}
		})
	}
	t.Run("WithAnotherNumber", func(t *testing.T) {
		t.Parallel()
		nc := mustConnect(t, mustStart(t))
		mustOpen(t, nc, 4)
		mustRemove(t, nc, "HOLDFAST_0")
		_, err := open(t, nc, jetstream.DeploymentConfig{Shards: 2})
		wantError(t, err, jetstream.ErrShards, "made with 4, not 2")
	})
}

func TestDeploymentRefused(t *testing.T) {
	t.Parallel()
	change := func(bucket string, f func(*natsjs.StreamConfig)) func(*testing.T, *nats.Conn) {
		return func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			mustOpen(t, nc, 3)
			cfg := mustConfig(t, nc, bucket)
			f(&cfg)
			if _, err := mustJetStream(t, nc).UpdateStream(testContext(t), cfg); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(*testing.T, *nats.Conn)
		kind    error
		words   []string
	}{
		{"BucketLost", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			mustOpen(t, nc, 3)
			mustRemove(t, nc, "HOLDFAST_1")
		}, jetstream.ErrBucketLost, []string{"HOLDFAST_1", "restore"}},
		{"FirstBucketLost", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			mustAppend(t, mustOpen(t, nc, 3).Bucket(2), 0, commit(1, 1, 10))
			mustRemove(t, nc, "HOLDFAST_0")
		}, jetstream.ErrBucketLost, []string{"HOLDFAST_0", "restore"}},
		{"Foreign", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			if _, err := mustJetStream(t, nc).CreateKeyValue(testContext(t), natsjs.KeyValueConfig{Bucket: "HOLDFAST_0"}); err != nil {
				t.Fatal(err)
			}
		}, jetstream.ErrForeignBucket, []string{"HOLDFAST_0", "not made by Holdfast", "another prefix"}},
		{"ForeignAmongThem", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			if _, err := mustJetStream(t, nc).CreateKeyValue(testContext(t), natsjs.KeyValueConfig{Bucket: "HOLDFAST_5"}); err != nil {
				t.Fatal(err)
			}
		}, jetstream.ErrForeignBucket, []string{"HOLDFAST_5"}},
		{"OtherPrefix", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			if _, err := open(t, nc, jetstream.DeploymentConfig{Prefix: "Holdfast", Shards: 3}); err != nil {
				t.Fatal(err)
			}
		}, jetstream.ErrForeignBucket, []string{`"Holdfast"`, `"holdfast"`}},
		{"NewerFormat", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.Metadata["holdfast.format"] = "2" }),
			jetstream.ErrNewerFormat, []string{"format 2", "up to 1", "upgrade"}},
		{"StrangeFormat", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.Metadata["holdfast.format"] = "x" }),
			jetstream.ErrForeignBucket, []string{`holdfast.format="x"`}},
		{"StrangeShards", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { delete(cfg.Metadata, "holdfast.shards") }),
			jetstream.ErrForeignBucket, []string{`holdfast.shards=""`}},
		{"OtherShards", change("HOLDFAST_1", func(cfg *natsjs.StreamConfig) { cfg.Metadata["holdfast.shards"] = "9" }),
			jetstream.ErrShards, []string{"9", "3"}},
		{"AllowDirect", change("HOLDFAST_2", func(cfg *natsjs.StreamConfig) { cfg.AllowDirect = true }),
			jetstream.ErrBucketSettings, []string{"HOLDFAST_2", "allow direct true", "must be false", "nats stream edit KV_HOLDFAST_2"}},
		{"History", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.MaxMsgsPerSubject = 5 }),
			jetstream.ErrBucketSettings, []string{"max messages per subject 5", "must be 1"}},
		{"MaxAge", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.MaxAge = time.Hour }),
			jetstream.ErrBucketSettings, []string{"max age 1h0m0s", "must be 0s"}},
		{"MaxMsgs", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.MaxMsgs = 1000 }),
			jetstream.ErrBucketSettings, []string{"max messages 1000"}},
		{"Discard", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.Discard = natsjs.DiscardOld }),
			jetstream.ErrBucketSettings, []string{"discard policy DiscardOld"}},
		{"MessageTTL", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.AllowMsgTTL = true }),
			jetstream.ErrBucketSettings, []string{"allow message TTL true"}},
		{"Subjects", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.Subjects = append(cfg.Subjects, "more") }),
			jetstream.ErrBucketSettings, []string{"subjects", "more"}},
		{"NoAck", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.NoAck = true }),
			jetstream.ErrBucketSettings, []string{"no ack true"}},
		{"Sealed", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.Sealed, cfg.AllowRollup = true, false }),
			jetstream.ErrBucketSettings, []string{"sealed true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			nc := mustConnect(t, mustStart(t))
			test.prepare(t, nc)
			_, err := open(t, nc, jetstream.DeploymentConfig{})
			wantError(t, err, test.kind, append(test.words, `deployment "holdfast"`)...)
		})
	}
	t.Run("HarmlessChanges", func(t *testing.T) {
		t.Parallel()
		nc := mustConnect(t, mustStart(t))
		change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) {
			cfg.MaxBytes, cfg.Description = 1<<30, "ours"
			cfg.RePublish = &natsjs.RePublish{Source: ">", Destination: "copy.>"}
		})(t, nc)
		mustOpen(t, nc, 0)
	})
}

func TestDeploymentConfig(t *testing.T) {
	t.Parallel()
	nc := mustConnect(t, mustStart(t))
	for name, test := range map[string]struct {
		cfg  jetstream.DeploymentConfig
		kind error
	}{
		"Prefix":           {jetstream.DeploymentConfig{Prefix: "$SYS"}, messages.ErrInvalid},
		"Shards":           {jetstream.DeploymentConfig{Shards: jetstream.MaxShards + 1}, jetstream.ErrConfig},
		"NegativeReplicas": {jetstream.DeploymentConfig{Replicas: -1}, jetstream.ErrConfig},
		"NoCluster":        {jetstream.DeploymentConfig{Replicas: 3}, jetstream.ErrConfig},
	} {
		_, err := open(t, nc, test.cfg)
		if name == "Prefix" {
			wantError(t, err, jetstream.ErrConfig)
		}
		wantError(t, err, test.kind)
	}
}

// What there is no cluster for is refused for buckets that exist as for new ones.
func TestDeploymentKeepsReplicas(t *testing.T) {
	t.Parallel()
	nc := mustConnect(t, mustStart(t))
	mustOpen(t, nc, 2)
	_, err := open(t, nc, jetstream.DeploymentConfig{Replicas: 3})
	wantError(t, err, jetstream.ErrConfig, "3 replicas need a JetStream cluster", "is alone")
}

func TestDeploymentWithoutJetStream(t *testing.T) {
	t.Parallel()
	t.Run("Server", func(t *testing.T) {
		t.Parallel()
		plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		plain.Start()
		defer plain.Shutdown()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = jetstream.OpenDeployment(ctx, mustDial(t, plain.ClientURL()), jetstream.DeploymentConfig{Prefix: prefix, Log: quiet()})
		wantError(t, err, jetstream.ErrNoJetStream, "is it enabled there?")
		wantError(t, err, context.DeadlineExceeded)
	})
	t.Run("Account", func(t *testing.T) {
		t.Parallel()
		s := mustStartFile(t, `
			listen: "127.0.0.1:-1"
			jetstream { store_dir: "$DIR", sync_interval: always }
			accounts {
				LOCKS: { jetstream: enabled, users: [ { user: node, password: node } ] }
				OTHER: { users: [ { user: other, password: other } ] }
			}`)
		mustOpen(t, mustConnect(t, s, natsUser("node")), 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := jetstream.OpenDeployment(ctx, mustConnect(t, s, natsUser("other")), jetstream.DeploymentConfig{Prefix: prefix, Log: quiet()})
		wantError(t, err, jetstream.ErrNoJetStream)
	})
}

func TestDeploymentWithoutPermission(t *testing.T) {
	t.Parallel()
	s := mustStartFile(t, `
		listen: "127.0.0.1:-1"
		jetstream { store_dir: "$DIR", sync_interval: always }
		authorization { users: [
			{ user: nothing, password: nothing, permissions: { publish: { deny: ["$JS.>"] } } },
			{ user: reader, password: reader, permissions: { publish: { deny: ["$JS.API.STREAM.CREATE.>"] } } },
			{ user: deaf, password: deaf, permissions: { subscribe: { deny: [">"] } } },
		] }`)
	for user, word := range map[string]string{
		"nothing": "STREAM.INFO", "reader": "STREAM.CREATE", "deaf": "Subscription",
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			_, err := open(t, mustConnect(t, s, natsUser(user)), jetstream.DeploymentConfig{})
			wantError(t, err, jetstream.ErrForbidden, word)
		})
	}
}

func TestDeploymentWaitsForJetStream(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]action{
		"NoResponders": {status: "503"},
		"Unavailable":  refuse(503, 10008, "JetStream system temporarily unavailable"),
		"NoPeers":      refuse(400, 10005, "no suitable peers for placement"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMiddle(t)
			refused := firstOf(12, func(m *nats.Msg) bool { return strings.HasPrefix(m.Subject, "$JS.API.STREAM.") })
			m.onRequests(func(request *nats.Msg) action {
				if refused(request) {
					return answer
				}
				return pass
			})
			log := newRecorder()
			if _, err := open(t, m.client, jetstream.DeploymentConfig{Shards: 2, Log: slog.New(log)}); err != nil {
				t.Fatal(err)
			}
			if level, ok := log.find("JetStream is not ready"); !ok || level != slog.LevelWarn {
				t.Error("nobody is told what takes so long")
			}
		})
	}
	t.Run("ConnectionLost", func(t *testing.T) {
		t.Parallel()
		m := newMiddle(t)
		once := firstOf(1, isInfo)
		m.onRequests(func(request *nats.Msg) action {
			if once(request) {
				m.cut()
				return drop
			}
			return pass
		})
		mustOpen(t, m.client, 2)
	})
}

func TestDeploymentOldServer(t *testing.T) {
	t.Parallel()
	s := mustStart(t)
	p := newProxy(t, s.ClientURL())
	p.onLines(func(line string) string {
		return strings.Replace(line, `"version":"`+server.VERSION+`"`, `"version":"2.14.9"`, 1)
	})
	nc := mustDial(t, p.url())
	_, err := open(t, nc, jetstream.DeploymentConfig{Replicas: 3})
	wantError(t, err, jetstream.ErrServerTooOld, "2.14.9", "2.15", "upgrade")

	log := newRecorder()
	if _, err := open(t, nc, jetstream.DeploymentConfig{Shards: 1, Log: slog.New(log)}); err != nil {
		t.Fatal(err)
	}
	if level, ok := log.find("too old"); !ok || level != slog.LevelWarn {
		t.Error("nobody is told")
	}
}
