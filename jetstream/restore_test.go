package jetstream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

func beginRestore(tb testing.TB, nc *nats.Conn, shards uint32, after uint64) (*jetstream.Restore, error) {
	tb.Helper()
	return jetstream.BeginRestore(jstest.Context(tb), nc,
		jetstream.DeploymentConfig{Prefix: "holdfast", Shards: shards, Log: jstest.Quiet()}, after)
}

func mustBeginRestore(tb testing.TB, nc *nats.Conn, shards uint32, after uint64) *jetstream.Restore {
	tb.Helper()
	r, err := beginRestore(tb, nc, shards, after)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// streams returns the names of all streams, in order.
func streams(tb testing.TB, nc *nats.Conn) (names []string) {
	tb.Helper()
	list := jstest.MustJetStream(tb, nc).StreamNames(jstest.Context(tb))
	for name := range list.Name() {
		names = append(names, name)
	}
	if list.Err() != nil {
		tb.Fatal(list.Err())
	}
	slices.Sort(names)
	return names
}

// A restored deployment is like one that was created, except that its positions go on where it was asked to.
func TestRestoredDeployment(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	const after = 1_000_000_007
	r := mustBeginRestore(t, nc, 3, after)
	for shard := range r.Shards() {
		jstest.MustAppend(t, r.Bucket(shard), after, jstest.Commit(2, 10, 10))
		jstest.MustAppend(t, r.Bucket(shard), after+1, jstest.Page(0, 0, 10, 10))
	}
	if err := r.Finish(jstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	d := jstest.MustOpen(t, nc, 0)
	if d.Shards() != 3 {
		t.Errorf("%d shards", d.Shards())
	}
	jstest.MustAppend(t, d.Bucket(2), after+2, jstest.Commit(3, 11, 10))
	if got := jstest.MustReplay(t, d.Bucket(2), 0); len(got.Records) != 3 || got.Last != after+3 {
		t.Errorf("read %d records up to %d", len(got.Records), got.Last)
	}
}

// At whatever step a restore is interrupted: the deployment is not opened, and another restore begins anew.
func TestInterruptedRestore(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	nc := m.Direct
	for step := 1; ; step++ {
		mustBeginRestore(t, nc, 2, 5) // leaves two buckets to be removed
		ctx, cancel := context.WithCancel(jstest.Context(t))
		changes := 0
		m.OnRequests(func(request *nats.Msg) jstest.Action {
			if !isChange(request) {
				return jstest.Pass
			}
			if changes++; changes == step {
				cancel()
			}
			if changes >= step {
				return jstest.Drop
			}
			return jstest.Pass
		})
		err := restoreTwo(ctx, m.Client)
		m.OnRequests(func(*nats.Msg) jstest.Action { return jstest.Pass })
		if cancel(); err == nil {
			t.Logf("a restore changes something %d times", step-1)
			break
		}
		if len(streams(t, nc)) == 0 {
			continue // nothing has begun
		}
		_, err = jstest.Open(t, nc, jetstream.DeploymentConfig{})
		jstest.WantError(t, err, jetstream.ErrUnfinished, "HOLDFAST_0", "start it again")
	}
	if got := fmt.Sprint(streams(t, nc)); got != "[KV_HOLDFAST_0 KV_HOLDFAST_1]" {
		t.Errorf("in the end there is %s", got)
	}
	d := jstest.MustOpen(t, nc, 0)
	for shard := range d.Shards() {
		if got := jstest.MustReplay(t, d.Bucket(shard), 0); len(got.Records) != 1 {
			t.Errorf("shard %d has %d records", shard, len(got.Records))
		}
	}
}

// A server that is still removing the directory of its last stream is asked to create a bucket once more, but not for
// ever.
func TestRestoreWhileDirectoryIsRemoved(t *testing.T) {
	t.Parallel()
	for refusals, want := range map[int]int{0: 2, 1: 3, 1000: 7} {
		m := jstest.NewMiddle(t)
		asked := 0
		m.OnRequests(func(request *nats.Msg) jstest.Action {
			if !strings.HasPrefix(request.Subject, "$JS.API.STREAM.CREATE.") {
				return jstest.Pass
			}
			if asked++; asked > refusals {
				return jstest.Pass
			}
			return jstest.Refuse(500, int(jsapi.CodeNotCreated), "error creating store for stream")
		})
		err := restoreTwo(jstest.Context(t), m.Client)
		if isRefused := jsapi.HasCode(err, jsapi.CodeNotCreated); asked != want || isRefused != (refusals > want) || err != nil && !isRefused {
			t.Errorf("%d refusals: asked %d times, then %v", refusals, asked, err)
		}
	}
}

// A node that opened the deployment before it was lost does not open a shard that is being restored.
func TestRestoreUnderARunningNode(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	b := jstest.MustOpen(t, nc, 1).Bucket(0)
	jstest.MustAppend(t, b, 0, jstest.Commit(1, 1, 10))
	mustRemove(t, nc, "HOLDFAST_0")
	r := mustBeginRestore(t, nc, 1, 1000)
	_, err := jstest.Replay(jstest.Context(t), b, 0)
	jstest.WantError(t, err, jetstream.ErrUnfinished, "HOLDFAST_0", "let holdfast restore end")
	jstest.MustAppend(t, r.Bucket(0), 1000, jstest.Commit(2, 10, 10))
	_, err = jstest.Replay(jstest.Context(t), b, 0)
	jstest.WantError(t, err, jetstream.ErrUnfinished, "HOLDFAST_0")
	if err := r.Finish(jstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	wantStored(t, jstest.MustReplay(t, b, 0), 1001, "1001: commit 10 of epoch 2")
}

// A restore whose last change was made is finished, also if the answer is lost and the context ends.
func TestAnswerToFinishIsLost(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	ctx, cancel := context.WithCancel(jstest.Context(t))
	m.OnAnswers(func(request, answer *nats.Msg) *nats.Msg {
		if request != nil && request.Subject == "$JS.API.STREAM.UPDATE.KV_HOLDFAST_0" {
			cancel()
			return nil
		}
		return answer
	})
	if err := restoreTwo(ctx, m.Client); err != nil {
		t.Error(err)
	}
	if ctx.Err() == nil {
		t.Error("no answer was lost")
	}
	jstest.MustOpen(t, m.Direct, 0)
}

// A restored bucket has all its records, and goes on, when it gets more replicas, whichever of them leads it.
func TestRestoredBucketGrows(t *testing.T) {
	t.Parallel()
	m := jstest.MustMembers(t, 3)
	const after, records = 1_000_000_000, 50
	r := mustBeginRestore(t, m.Conns[0], 1, after)
	next := func(b *jetstream.Bucket, n uint64) {
		t.Helper()
		jstest.MustAppend(t, b, after+n, jstest.Commit(1, n+5, 10))
	}
	b := r.Bucket(0)
	for n := range uint64(records) {
		next(b, n)
	}
	if err := r.Finish(jstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	d, err := jstest.Open(t, m.Conns[0], jetstream.DeploymentConfig{Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Grow(jstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	for i, s := range m.Servers[:2] {
		s.Resign(jstest.Context(t))
		n := records + uint64(i)
		if got := jstest.MustReplay(t, d.Bucket(0), 0); uint64(len(got.Records)) != n || got.Last != after+n {
			t.Errorf("after %d changes of leader: %d records up to %d, want %d", i+1, len(got.Records), got.Last, n)
		}
		next(d.Bucket(0), n)
	}
}

// restoreTwo restores two shards with a record each.
func restoreTwo(ctx context.Context, nc *nats.Conn) error {
	r, err := jetstream.BeginRestore(ctx, nc, jetstream.DeploymentConfig{Prefix: "holdfast", Shards: 2,
		Log: jstest.Quiet()}, 5)
	if err != nil {
		return err
	}
	for shard := range r.Shards() {
		if err := r.Bucket(shard).Append(ctx, 5, jstest.Commit(1, 2, 10)); err != nil {
			return err
		}
	}
	return r.Finish(ctx)
}

// isChange reports whether the message changes what is stored.
func isChange(m *nats.Msg) bool {
	return jstest.IsAppend(m) || strings.HasPrefix(m.Subject, "$JS.API.STREAM.CREATE.") ||
		strings.HasPrefix(m.Subject, "$JS.API.STREAM.UPDATE.") || strings.HasPrefix(m.Subject, "$JS.API.STREAM.DELETE.")
}

// A deployment that exists, a part of one, another application's bucket and a stream of events are refused, and stay.
func TestRestoreNeedsAnEmptyPlace(t *testing.T) {
	t.Parallel()
	for name, occupy := range map[string]func(t *testing.T, nc *nats.Conn){
		"Deployment": func(t *testing.T, nc *nats.Conn) { t.Helper(); jstest.MustOpen(t, nc, 2) },
		"PartOfOne": func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			jstest.MustOpen(t, nc, 2)
			mustRemove(t, nc, "HOLDFAST_0")
		},
		"OtherPart": func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			jstest.MustOpen(t, nc, 2)
			mustRemove(t, nc, "HOLDFAST_1")
		},
		"ForeignBucket": func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			mustCreate(t, nc, "KV_HOLDFAST_7", "$KV.HOLDFAST_7.>")
		},
		"StreamOfEvents": func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			mustCreate(t, nc, "HOLDFAST_EVENTS", "holdfast.event.>")
		},
		"BesideARestore": func(t *testing.T, nc *nats.Conn) {
			t.Helper()
			mustBeginRestore(t, nc, 1, 0)
			mustCreate(t, nc, "KV_HOLDFAST_7", "$KV.HOLDFAST_7.>")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc := jstest.MustConnect(t, jstest.MustStart(t))
			occupy(t, nc)
			before := streams(t, nc)
			_, err := beginRestore(t, nc, 2, 0)
			jstest.WantError(t, err, jetstream.ErrNotEmpty, "HOLDFAST_", "another prefix")
			if after := streams(t, nc); !slices.Equal(before, after) {
				t.Errorf("there was %v, and is %v", before, after)
			}
		})
	}
}

func mustCreate(t *testing.T, nc *nats.Conn, name, subject string) {
	t.Helper()
	_, err := jstest.MustJetStream(t, nc).CreateStream(jstest.Context(t),
		natsjs.StreamConfig{Name: name, Subjects: []string{subject}})
	if err != nil {
		t.Fatal(err)
	}
}

// Of two restores at the same time at most one finishes.
func TestTwoRestores(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	first := mustBeginRestore(t, nc, 2, 0)
	second := mustBeginRestore(t, nc, 2, 0)
	jstest.WantError(t, first.Finish(jstest.Context(t)), jetstream.ErrNotEmpty, "another process", "HOLDFAST_1")
	if err := second.Finish(jstest.Context(t)); err != nil {
		t.Error(err)
	}
}

// A deployment is not created by one who only reads.
func TestNoDeployment(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	_, err := jstest.Open(t, nc, jetstream.DeploymentConfig{Existing: true})
	jstest.WantError(t, err, jetstream.ErrNoDeployment, "HOLDFAST_0", "--prefix")
	if there := streams(t, nc); len(there) != 0 {
		t.Errorf("there is %v", there)
	}
}
