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

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

func mustRemove(tb testing.TB, nc *nats.Conn, buckets ...string) {
	tb.Helper()
	for _, bucket := range buckets {
		if err := jstest.MustJetStream(tb, nc).DeleteStream(jstest.Context(tb), "KV_"+bucket); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestDeploymentIsMade(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	d := jstest.MustOpen(t, nc, 0)
	if d.Shards() != jetstream.DefaultShards {
		t.Errorf("%d shards", d.Shards())
	}
	for shard := range d.Shards() {
		name := fmt.Sprintf("HOLDFAST_%d", shard)
		if got := d.Bucket(shard).Name(); got != name {
			t.Errorf("shard %d has bucket %s", shard, got)
		}
		cfg := jstest.MustConfig(t, nc, name)
		if cfg.AllowDirect || !cfg.DenyDelete || !cfg.AllowRollup || cfg.MaxMsgsPerSubject != 1 || cfg.MaxBytes != -1 ||
			cfg.MaxMsgs != -1 || cfg.Discard != natsjs.DiscardNew || cfg.Storage != natsjs.FileStorage ||
			cfg.Replicas != 1 || cfg.Duplicates != 100*time.Millisecond ||
			fmt.Sprint(cfg.Subjects) != "[$KV."+name+".>]" {
			t.Errorf("%s is made wrong: %+v", name, cfg)
		}
		for key, want := range map[string]string{"holdfast.shards": fmt.Sprint(jetstream.DefaultShards),
			"holdfast.format": "1", "holdfast.prefix": "holdfast"} {
			if got := cfg.Metadata[key]; got != want {
				t.Errorf("%s has %s=%q, want %q", name, key, got, want)
			}
		}
		jstest.MustAppend(t, d.Bucket(shard), 0, jstest.Commit(1, 1, 10))
	}
	kv, err := jstest.MustJetStream(t, nc).KeyValue(jstest.Context(t), jstest.BucketName)
	if err != nil {
		t.Fatal(err)
	}
	if entry, err := kv.Get(jstest.Context(t), "journal.1"); err != nil || entry.Revision() != 1 {
		t.Errorf("KV clients read %v, error %v", entry, err)
	}
}

func TestDeploymentIsOpenedAgain(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	jstest.MustAppend(t, jstest.MustOpen(t, nc, 3).Bucket(2), 0, jstest.Commit(1, 1, 10))
	for _, shards := range []uint32{0, 3} {
		d := jstest.MustOpen(t, nc, shards)
		if d.Shards() != 3 {
			t.Errorf("asked for %d, got %d shards", shards, d.Shards())
		}
		if got := jstest.MustReplay(t, d.Bucket(2), 0); len(got.Records) != 1 {
			t.Errorf("asked for %d, got %d records", shards, len(got.Records))
		}
	}
	_, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Shards: 4})
	jstest.WantError(t, err, jetstream.ErrShards, `"holdfast"`, "made with 3, not 4", "ask for 3", "another prefix")

	other, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Prefix: "team-a.locks", Shards: 2})
	if err != nil || other.Bucket(1).Name() != "TEAM-A_LOCKS_1" {
		t.Errorf("another prefix beside it: %v", err)
	}
}

func TestDeploymentIsMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	s := jstest.MustStart(t)
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			nc, err := s.Connect()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			d, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Shards: 5})
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
			nc := jstest.MustConnect(t, jstest.MustStart(t))
			jstest.MustOpen(t, nc, 4)
			mustRemove(t, nc, test.gone...)
			d := jstest.MustOpen(t, nc, test.asked)
			if d.Shards() != 4 {
				t.Errorf("%d shards", d.Shards())
			}
			for shard := range d.Shards() {
				jstest.MustAppend(t, d.Bucket(shard), 0, jstest.Commit(1, 1, 10))
			}
		})
	}
	t.Run("WithAnotherNumber", func(t *testing.T) {
		t.Parallel()
		nc := jstest.MustConnect(t, jstest.MustStart(t))
		jstest.MustOpen(t, nc, 4)
		mustRemove(t, nc, "HOLDFAST_0")
		_, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Shards: 2})
		jstest.WantError(t, err, jetstream.ErrShards, "made with 4, not 2")
	})
}

func TestDeploymentRefused(t *testing.T) {
	t.Parallel()
	change := func(bucket string, f func(*natsjs.StreamConfig)) func(*testing.T, *nats.Conn) {
		return func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			jstest.MustOpen(t, nc, 3)
			cfg := jstest.MustConfig(t, nc, bucket)
			f(&cfg)
			if _, err := jstest.MustJetStream(t, nc).UpdateStream(jstest.Context(t), cfg); err != nil {
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
			jstest.MustOpen(t, nc, 3)
			mustRemove(t, nc, "HOLDFAST_1")
		}, jetstream.ErrBucketLost, []string{"HOLDFAST_1", "restore"}},
		{"FirstBucketLost", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			jstest.MustAppend(t, jstest.MustOpen(t, nc, 3).Bucket(2), 0, jstest.Commit(1, 1, 10))
			mustRemove(t, nc, "HOLDFAST_0")
		}, jetstream.ErrBucketLost, []string{"HOLDFAST_0", "restore"}},
		{"Foreign", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			if _, err := jstest.MustJetStream(t, nc).CreateKeyValue(jstest.Context(t),
				natsjs.KeyValueConfig{Bucket: "HOLDFAST_0"}); err != nil {
				t.Fatal(err)
			}
		}, jetstream.ErrForeignBucket, []string{"HOLDFAST_0", "not made by Holdfast", "another prefix"}},
		{"ForeignAmongThem", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			if _, err := jstest.MustJetStream(t, nc).CreateKeyValue(jstest.Context(t),
				natsjs.KeyValueConfig{Bucket: "HOLDFAST_5"}); err != nil {
				t.Fatal(err)
			}
		}, jetstream.ErrForeignBucket, []string{"HOLDFAST_5"}},
		{"OtherPrefix", func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			if _, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Prefix: "Holdfast", Shards: 3}); err != nil {
				t.Fatal(err)
			}
		}, jetstream.ErrForeignBucket, []string{`"Holdfast"`, `"holdfast"`}},
		{"NewerFormat", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.Metadata["holdfast.format"] = "2" }),
			jetstream.ErrNewerFormat, []string{"format 2", "up to 1", "upgrade"}},
		{"StrangeFormat", change("HOLDFAST_0", func(
			cfg *natsjs.StreamConfig) {
			cfg.Metadata["holdfast.format"] = "x"
		}),
			jetstream.ErrForeignBucket, []string{`holdfast.format="x"`}},
		{"StrangeShards", change("HOLDFAST_0", func(
			cfg *natsjs.StreamConfig) {
			delete(cfg.Metadata, "holdfast.shards")
		}),
			jetstream.ErrForeignBucket, []string{`holdfast.shards=""`}},
		{"OtherShards", change("HOLDFAST_1", func(cfg *natsjs.StreamConfig) { cfg.Metadata["holdfast.shards"] = "9" }),
			jetstream.ErrShards, []string{"9", "3"}},
		{"AllowDirect", change("HOLDFAST_2", func(cfg *natsjs.StreamConfig) { cfg.AllowDirect = true }),
			jetstream.ErrBucketSettings, []string{"HOLDFAST_2", "allow direct true", "must be false",
				"nats stream edit KV_HOLDFAST_2"}},
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
		{"Subjects", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) {
			cfg.Subjects = append(cfg.Subjects, "more")
		}),
			jetstream.ErrBucketSettings, []string{"subjects", "more"}},
		{"NoAck", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.NoAck = true }),
			jetstream.ErrBucketSettings, []string{"no ack true"}},
		{"Sealed", change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) { cfg.Sealed, cfg.AllowRollup = true, false }),
			jetstream.ErrBucketSettings, []string{"sealed true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			nc := jstest.MustConnect(t, jstest.MustStart(t))
			test.prepare(t, nc)
			_, err := jstest.Open(t, nc, jetstream.DeploymentConfig{})
			jstest.WantError(t, err, test.kind, append(test.words, `deployment "holdfast"`)...)
		})
	}
	t.Run("HarmlessChanges", func(t *testing.T) {
		t.Parallel()
		nc := jstest.MustConnect(t, jstest.MustStart(t))
		change("HOLDFAST_0", func(cfg *natsjs.StreamConfig) {
			cfg.MaxBytes, cfg.Description = 1<<30, "ours"
			cfg.RePublish = &natsjs.RePublish{Source: ">", Destination: "copy.>"}
		})(t, nc)
		jstest.MustOpen(t, nc, 0)
	})
}

func TestDeploymentConfig(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	for name, test := range map[string]struct {
		cfg  jetstream.DeploymentConfig
		kind error
	}{
		"Prefix":           {jetstream.DeploymentConfig{Prefix: "$SYS"}, messages.ErrInvalid},
		"Shards":           {jetstream.DeploymentConfig{Shards: jetstream.MaxShards + 1}, jetstream.ErrConfig},
		"NegativeReplicas": {jetstream.DeploymentConfig{Replicas: -1}, jetstream.ErrConfig},
		"NoCluster":        {jetstream.DeploymentConfig{Replicas: 3}, jetstream.ErrConfig},
	} {
		_, err := jstest.Open(t, nc, test.cfg)
		if name == "Prefix" {
			jstest.WantError(t, err, jetstream.ErrConfig)
		}
		jstest.WantError(t, err, test.kind)
	}
}

// What there is no cluster for is refused for buckets that exist as for new ones.
func TestDeploymentKeepsReplicas(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	jstest.MustOpen(t, nc, 2)
	_, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Replicas: 3})
	jstest.WantError(t, err, jetstream.ErrConfig, "3 replicas need a JetStream cluster", "is alone")
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
		_, err = jetstream.OpenDeployment(ctx, jstest.MustDial(t, plain.ClientURL()),
			jetstream.DeploymentConfig{Prefix: jstest.Prefix, Log: jstest.Quiet()})
		jstest.WantError(t, err, jetstream.ErrNoJetStream, "is it enabled there?")
		jstest.WantError(t, err, context.DeadlineExceeded)
	})
	t.Run("Account", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStartFile(t, `
			listen: "127.0.0.1:-1"
			jetstream { store_dir: "$DIR", sync_interval: always }
			accounts {
				LOCKS: { jetstream: enabled, users: [ { user: node, password: node } ] }
				OTHER: { users: [ { user: other, password: other } ] }
			}`)
		jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("node")), 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := jetstream.OpenDeployment(ctx, jstest.MustConnect(t, s, jstest.User("other")),
			jetstream.DeploymentConfig{Prefix: jstest.Prefix, Log: jstest.Quiet()})
		jstest.WantError(t, err, jetstream.ErrNoJetStream)
	})
}

func TestDeploymentWithoutPermission(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, `
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
			_, err := jstest.Open(t, jstest.MustConnect(t, s, jstest.User(user)), jetstream.DeploymentConfig{})
			jstest.WantError(t, err, jetstream.ErrForbidden, word)
		})
	}
}

func TestDeploymentWaitsForJetStream(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]jstest.Action{
		"NoResponders": {Status: "503"},
		"Unavailable":  jstest.Refuse(503, 10008, "JetStream system temporarily unavailable"),
		"NoPeers":      jstest.Refuse(400, 10005, "no suitable peers for placement"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := jstest.NewMiddle(t)
			refused := jstest.FirstOf(12, func(m *nats.Msg) bool {
				return strings.HasPrefix(m.Subject, "$JS.API.STREAM.")
			})
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if refused(request) {
					return answer
				}
				return jstest.Pass
			})
			log := jstest.NewRecorder()
			if _, err := jstest.Open(t, m.Client, jetstream.DeploymentConfig{Shards: 2, Log: slog.New(log)}); err != nil {
				t.Fatal(err)
			}
			if level, ok := log.Find("JetStream is not ready"); !ok || level != slog.LevelWarn {
				t.Error("the wait is not logged")
			}
		})
	}
	t.Run("ConnectionLost", func(t *testing.T) {
		t.Parallel()
		m := jstest.NewMiddle(t)
		once := jstest.FirstOf(1, jstest.IsInfo)
		m.OnRequests(func(request *nats.Msg) jstest.Action {
			if once(request) {
				m.Cut()
				return jstest.Drop
			}
			return jstest.Pass
		})
		jstest.MustOpen(t, m.Client, 2)
	})
}

func TestDeploymentOldServer(t *testing.T) {
	t.Parallel()
	s := jstest.MustStart(t)
	p := jstest.NewProxy(t, s.ClientURL())
	p.OnLines(func(line string) string {
		return strings.Replace(line, `"version":"`+server.VERSION+`"`, `"version":"2.14.9"`, 1)
	})
	nc := jstest.MustDial(t, p.URL())
	_, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Replicas: 3})
	jstest.WantError(t, err, jetstream.ErrServerTooOld, "2.14.9", "2.15", "upgrade")

	log := jstest.NewRecorder()
	if _, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Shards: 1, Log: slog.New(log)}); err != nil {
		t.Fatal(err)
	}
	if level, ok := log.Find("too old"); !ok || level != slog.LevelWarn {
		t.Error("it is not logged")
	}
}
