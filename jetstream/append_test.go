package jetstream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	b, nc := mustBucket(t)
	mustAppend(t, b, 0, commit(1, 1, 200))
	mustAppend(t, b, 1, page(0b0110, 4, 1, 300))
	mustAppend(t, b, 2, page(0, 0, 1, 300))
	mustAppend(t, b, 3, commit(1, 2, 16_000))

	got := mustReplay(t, b, 0)
	want := "1: commit 1 of epoch 1\n2: page p0110 at commit 1\n3: page p at commit 1\n4: commit 2 of epoch 1"
	if got.describe() != want || got.last != 4 {
		t.Errorf("replayed\n%s\nup to %d, want\n%s", got.describe(), got.last, want)
	}
	if !proto.Equal(got.records[3], commit(1, 2, 16_000)) {
		t.Error("a record changed on its way")
	}

	t.Run("IsAKeyValueBucket", func(t *testing.T) {
		kv, err := mustJetStream(t, nc).KeyValue(testContext(t), bucketName)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := kv.Keys(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(keys)
		if got, want := strings.Join(keys, " "), "journal.1 journal.2 state.p state.p0110"; got != want {
			t.Errorf("keys %s, want %s", got, want)
		}
	})
}

func TestAppendConflict(t *testing.T) {
	t.Parallel()
	b, nc := mustBucket(t)
	mustFill(t, b, 3)
	other := mustOpen(t, nc, 1).Bucket(0)
	mustAppend(t, other, 3, commit(2, 4, 10))

	for name, record := range map[string]*journal.Record{
		"Commit":       commit(1, 4, 10),
		"SameContents": commit(2, 4, 11),
		"Page":         page(0, 0, 3, 10),
	} {
		t.Run(name, func(t *testing.T) {
			err := b.Append(testContext(t), 3, record)
			wantError(t, err, journal.ErrConflict, bucketName, "position 4", "commit 4 of epoch 2", `"node-2"`)
			if errors.Is(err, journal.ErrUnknown) || errors.Is(err, journal.ErrNotStored) {
				t.Errorf("%v is of two kinds", err)
			}
			var place *jetstream.PlaceError
			if !errors.As(err, &place) || place.Position != 4 {
				t.Errorf("%#v does not tell the place", err)
			}
		})
	}
	if got := mustReplay(t, b, 0); got.last != 4 || len(got.records) != 4 {
		t.Errorf("the bucket holds\n%s", got.describe())
	}
}

func TestAppendAgain(t *testing.T) {
	t.Parallel()
	b, _ := mustBucket(t)
	mustAppend(t, b, 0, commit(1, 1, 10))
	// As after a restart of the writer's own loop: the same bytes at the same place are its own.
	mustAppend(t, b, 0, commit(1, 1, 10))
	if got := mustReplay(t, b, 0); len(got.records) != 1 {
		t.Errorf("the bucket holds\n%s", got.describe())
	}
}

func TestAppendNotStored(t *testing.T) {
	t.Parallel()
	b, nc := mustBucket(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	withFormat := func(format uint32) *journal.Record {
		r := commit(1, 1, 10)
		r.Format = format
		return r
	}
	for _, test := range []struct {
		name   string
		ctx    context.Context
		record *journal.Record
		words  []string
		kind   error
	}{
		{"Ended", ended, commit(1, 1, 10), []string{"journal.1"}, context.Canceled},
		{"NoBody", testContext(t), &journal.Record{Format: 1}, []string{"neither a commit nor a page"}, journal.ErrNotStored},
		{"NoFormat", testContext(t), withFormat(0), []string{"no format"}, journal.ErrNotStored},
		{"NewerFormat", testContext(t), withFormat(journal.Format + 1), []string{"newer"}, journal.ErrNotStored},
		{"TooLargeForNATS", testContext(t), commit(1, 1, 2<<20), []string{"payload", "position 1", bucketName}, journal.ErrNotStored},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := b.Append(test.ctx, 0, test.record)
			wantError(t, err, journal.ErrNotStored, test.words...)
			wantError(t, err, test.kind)
			wantAtOnce(t, err)
			if errors.Is(err, journal.ErrUnknown) {
				t.Errorf("%v leaves open what is certain", err)
			}
		})
	}

	js := mustJetStream(t, nc)
	change := func(f func(*natsjs.StreamConfig)) {
		stream, err := js.Stream(testContext(t), streamName)
		if err != nil {
			t.Fatal(err)
		}
		cfg := stream.CachedInfo().Config
		f(&cfg)
		if _, err := js.UpdateStream(testContext(t), cfg); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("TooLargeForTheBucket", func(t *testing.T) {
		change(func(cfg *natsjs.StreamConfig) { cfg.MaxMsgSize = 1000 })
		err := b.Append(testContext(t), 0, commit(1, 1, 2000))
		wantError(t, err, journal.ErrNotStored, "exceeds maximum")
		wantAtOnce(t, err)
	})
	t.Run("Sealed", func(t *testing.T) {
		change(func(cfg *natsjs.StreamConfig) { cfg.Sealed, cfg.DenyDelete, cfg.AllowRollup = true, true, false })
		err := b.Append(testContext(t), 0, commit(1, 1, 10))
		wantError(t, err, journal.ErrNotStored, "sealed")
		wantAtOnce(t, err)
	})
	if got := mustReplay(t, b, 0); got.last != 0 {
		t.Errorf("stored all the same:\n%s", got.describe())
	}
}

// wantAtOnce checks that it was not the test's own patience that ended it.
func wantAtOnce(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, context.DeadlineExceeded) {
		tb.Errorf("%v: tried for ever what can never succeed", err)
	}
}

func TestAppendForbidden(t *testing.T) {
	t.Parallel()
	s := mustStartFile(t, `
		listen: "127.0.0.1:-1"
		jetstream { store_dir: "$DIR", sync_interval: always }
		authorization { users: [
			{ user: node, password: node },
			{ user: reader, password: reader, permissions: { publish: { deny: ["$KV.>"] } } },
		] }`)
	mustFill(t, mustOpen(t, mustConnect(t, s, natsUser("node")), 1).Bucket(0), 1)
	b := mustOpen(t, mustConnect(t, s, natsUser("reader")), 1).Bucket(0)
	err := b.Append(testContext(t), 1, commit(1, 2, 10))
	wantError(t, err, jetstream.ErrForbidden, "journal.2", "Permissions Violation")
	wantError(t, err, journal.ErrNotStored)
	if got := mustReplay(t, b, 0); got.last != 1 {
		t.Errorf("stored all the same:\n%s", got.describe())
	}
}

func TestAppendClosed(t *testing.T) {
	t.Parallel()
	b, nc := mustBucket(t)
	nc.Close()
	err := b.Append(testContext(t), 0, commit(1, 1, 10))
	wantError(t, err, nats.ErrConnectionClosed, bucketName)
	wantAtOnce(t, err)
}

func TestAppendLostBucket(t *testing.T) {
	t.Parallel()
	b, nc := mustBucket(t)
	mustFill(t, b, 1)
	if err := mustJetStream(t, nc).DeleteStream(testContext(t), streamName); err != nil {
		t.Fatal(err)
	}
	err := b.Append(testContext(t), 1, commit(1, 2, 10))
	wantError(t, err, journal.ErrUnknown)
	wantError(t, err, jetstream.ErrBucketLost)
	_, err = replay(testContext(t), b, 0)
	wantError(t, err, jetstream.ErrBucketLost, bucketName)
}
