package jetstream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	b, nc := jstest.MustBucket(t)
	jstest.MustAppend(t, b, 0, jstest.Commit(1, 1, 200))
	jstest.MustAppend(t, b, 1, jstest.Page(0b0110, 4, 1, 300))
	jstest.MustAppend(t, b, 2, jstest.Page(0, 0, 1, 300))
	jstest.MustAppend(t, b, 3, jstest.Commit(1, 2, 16_000))

	got := jstest.MustReplay(t, b, 0)
	want := "1: commit 1 of epoch 1\n2: page p0110 at commit 1\n3: page p at commit 1\n4: commit 2 of epoch 1"
	if got.Describe() != want || got.Last != 4 {
		t.Errorf("replayed\n%s\nup to %d, want\n%s", got.Describe(), got.Last, want)
	}
	if !proto.Equal(got.Records[3], jstest.Commit(1, 2, 16_000)) {
		t.Error("a record changed on its way")
	}

	t.Run("IsAKeyValueBucket", func(t *testing.T) {
		kv, err := jstest.MustJetStream(t, nc).KeyValue(jstest.Context(t), jstest.BucketName)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := kv.Keys(jstest.Context(t))
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
	b, nc := jstest.MustBucket(t)
	jstest.MustFill(t, b, 3)
	other := jstest.MustOpen(t, nc, 1).Bucket(0)
	jstest.MustAppend(t, other, 3, jstest.Commit(2, 4, 10))

	for name, record := range map[string]*journal.Record{
		"Commit":       jstest.Commit(1, 4, 10),
		"SameContents": jstest.Commit(2, 4, 11),
		"Page":         jstest.Page(0, 0, 3, 10),
	} {
		t.Run(name, func(t *testing.T) {
			err := b.Append(jstest.Context(t), 3, record)
			jstest.WantError(t, err, journal.ErrConflict, jstest.BucketName, "position 4", "commit 4 of epoch 2",
				`"node-2"`)
			if errors.Is(err, journal.ErrUnknown) || errors.Is(err, journal.ErrNotStored) {
				t.Errorf("%v is of two kinds", err)
			}
			var place *jetstream.PlaceError
			if !errors.As(err, &place) || place.Position != 4 {
				t.Errorf("%#v does not name the place", err)
			}
		})
	}
	if got := jstest.MustReplay(t, b, 0); got.Last != 4 || len(got.Records) != 4 {
		t.Errorf("the bucket holds\n%s", got.Describe())
	}
}

func TestAppendAgain(t *testing.T) {
	t.Parallel()
	b, _ := jstest.MustBucket(t)
	jstest.MustAppend(t, b, 0, jstest.Commit(1, 1, 10))
	// As after a restart of the writer's own loop: the same bytes at the same place are its own.
	jstest.MustAppend(t, b, 0, jstest.Commit(1, 1, 10))
	if got := jstest.MustReplay(t, b, 0); len(got.Records) != 1 {
		t.Errorf("the bucket holds\n%s", got.Describe())
	}
}

func TestAppendNotStored(t *testing.T) {
	t.Parallel()
	b, nc := jstest.MustBucket(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	withFormat := func(format uint32) *journal.Record {
		r := jstest.Commit(1, 1, 10)
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
		{"Ended", ended, jstest.Commit(1, 1, 10), []string{"journal.1"}, context.Canceled},
		{"NoBody", jstest.Context(t), &journal.Record{Format: 1}, []string{"neither a commit nor a page"},
			journal.ErrNotStored},
		{"NoFormat", jstest.Context(t), withFormat(0), []string{"no format"}, journal.ErrNotStored},
		{"NewerFormat", jstest.Context(t), withFormat(journal.Format + 1), []string{"newer"}, journal.ErrNotStored},
		{"TooLargeForNATS", jstest.Context(t), jstest.Commit(1, 1, 2<<20),
			[]string{"payload", "position 1", jstest.BucketName}, journal.ErrNotStored},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := b.Append(test.ctx, 0, test.record)
			jstest.WantError(t, err, journal.ErrNotStored, test.words...)
			jstest.WantError(t, err, test.kind)
			wantAtOnce(t, err)
			if errors.Is(err, journal.ErrUnknown) {
				t.Errorf("%v leaves open what is certain", err)
			}
		})
	}

	js := jstest.MustJetStream(t, nc)
	change := func(f func(*natsjs.StreamConfig)) {
		stream, err := js.Stream(jstest.Context(t), jstest.StreamName)
		if err != nil {
			t.Fatal(err)
		}
		cfg := stream.CachedInfo().Config
		f(&cfg)
		if _, err := js.UpdateStream(jstest.Context(t), cfg); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("TooLargeForTheBucket", func(t *testing.T) {
		change(func(cfg *natsjs.StreamConfig) { cfg.MaxMsgSize = 1000 })
		err := b.Append(jstest.Context(t), 0, jstest.Commit(1, 1, 2000))
		jstest.WantError(t, err, journal.ErrNotStored, "exceeds maximum")
		wantAtOnce(t, err)
	})
	t.Run("Sealed", func(t *testing.T) {
		change(func(cfg *natsjs.StreamConfig) { cfg.Sealed, cfg.DenyDelete, cfg.AllowRollup = true, true, false })
		err := b.Append(jstest.Context(t), 0, jstest.Commit(1, 1, 10))
		jstest.WantError(t, err, journal.ErrNotStored, "sealed")
		wantAtOnce(t, err)
	})
	if got := jstest.MustReplay(t, b, 0); got.Last != 0 {
		t.Errorf("stored all the same:\n%s", got.Describe())
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
	s := jstest.MustStartFile(t, `
		listen: "127.0.0.1:-1"
		jetstream { store_dir: "$DIR", sync_interval: always }
		authorization { users: [
			{ user: node, password: node },
			{ user: reader, password: reader, permissions: { publish: { deny: ["$KV.>"] } } },
		] }`)
	jstest.MustFill(t, jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("node")), 1).Bucket(0), 1)
	b := jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("reader")), 1).Bucket(0)
	err := b.Append(jstest.Context(t), 1, jstest.Commit(1, 2, 10))
	jstest.WantError(t, err, jetstream.ErrForbidden, "journal.2", "Permissions Violation")
	jstest.WantError(t, err, journal.ErrNotStored)
	if got := jstest.MustReplay(t, b, 0); got.Last != 1 {
		t.Errorf("stored all the same:\n%s", got.Describe())
	}
}

func TestAppendClosed(t *testing.T) {
	t.Parallel()
	b, nc := jstest.MustBucket(t)
	nc.Close()
	err := b.Append(jstest.Context(t), 0, jstest.Commit(1, 1, 10))
	jstest.WantError(t, err, nats.ErrConnectionClosed, jstest.BucketName)
	wantAtOnce(t, err)
}

func TestAppendLostBucket(t *testing.T) {
	t.Parallel()
	b, nc := jstest.MustBucket(t)
	jstest.MustFill(t, b, 1)
	if err := jstest.MustJetStream(t, nc).DeleteStream(jstest.Context(t), jstest.StreamName); err != nil {
		t.Fatal(err)
	}
	err := b.Append(jstest.Context(t), 1, jstest.Commit(1, 2, 10))
	jstest.WantError(t, err, journal.ErrUnknown)
	jstest.WantError(t, err, jetstream.ErrBucketLost)
	_, err = jstest.Replay(jstest.Context(t), b, 0)
	jstest.WantError(t, err, jetstream.ErrBucketLost, jstest.BucketName)
}
