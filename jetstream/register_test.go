package jetstream_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func mustRead(tb testing.TB, d *jetstream.Deployment) (*journal.Register, uint64) {
	tb.Helper()
	r, revision, err := d.Register().Read(jstest.Context(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return r, revision
}

// mustBegin registers that a change to so many shards is under way.
func mustBegin(tb testing.TB, d *jetstream.Deployment, shards uint32) *journal.Register {
	tb.Helper()
	if err := d.Register().Create(jstest.Context(tb), 1); err != nil {
		tb.Fatal(err)
	}
	r, revision := mustRead(tb, d)
	r = r.Begin(shards, "coordinator", "host", 1)
	mustWrite(tb, d, revision, r)
	return r
}

func mustWrite(tb testing.TB, d *jetstream.Deployment, revision uint64, r *journal.Register) {
	tb.Helper()
	if err := d.Register().Write(jstest.Context(tb), revision, r); err != nil {
		tb.Fatal(err)
	}
}

// A deployment is opened in the generation that the register has, whatever number is asked for.
func TestRegister(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	d := jstest.MustOpen(t, nc, 2)
	if r, revision := mustRead(t, d); revision != 0 || r.InUse() != (messages.Shards{Count: 2}) {
		t.Errorf("a new deployment has revision %d of %v", revision, r)
	}
	begun := mustBegin(t, d, 3)
	created, err := d.Create(jstest.Context(t), begun.Next(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if name := created.Bucket(2).Name(); name != "HOLDFAST_1_2" {
		t.Errorf("the bucket is %s", name)
	}
	if err := created.Try(jstest.Context(t)); err != nil {
		t.Error(err)
	}
	jstest.MustAppend(t, created.Bucket(2), 1000, jstest.Commit(1, 5, 10))
	if is := jstest.MustOpen(t, nc, 0).Divided(); is != (messages.Shards{Count: 2}) {
		t.Errorf("before the end there is %v", is)
	}
	_, revision := mustRead(t, d)
	mustWrite(t, d, revision, begun.Done())
	for _, asked := range []uint32{0, 2, 3} {
		again := jstest.MustOpen(t, nc, asked)
		if again.Divided() != (messages.Shards{Generation: 1, Count: 3}) {
			t.Errorf("asked for %d: it is %v", asked, again.Divided())
		}
		if got := jstest.MustReplay(t, again.Bucket(2), 0); len(got.Records) != 1 || got.Last != 1001 {
			t.Errorf("there are %d records up to %d", len(got.Records), got.Last)
		}
	}
	mustRemove(t, nc, "HOLDFAST_1_0")
	_, err = jstest.Open(t, nc, jetstream.DeploymentConfig{})
	jstest.WantError(t, err, jetstream.ErrBucketLost, "HOLDFAST_1_0")
}

// Of two who write at the same revision one succeeds, and it is certain which.
func TestRegisterConflict(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	d := jstest.MustOpen(t, nc, 2)
	begun := mustBegin(t, d, 3)
	_, revision := mustRead(t, d)
	mustWrite(t, d, revision, begun.Void())
	jstest.WantError(t, d.Register().Write(jstest.Context(t), revision, begun.Done()), journal.ErrConflict)
	r, _ := mustRead(t, d)
	if !proto.Equal(r, begun.Void()) || !r.IsVoided(1) || r.IsVoided(0) || r.IsVoided(2) {
		t.Errorf("the register is %v", r)
	}
}

// What was begun and given up is removed, and nothing else; its number is not used again.
func TestVoidedGeneration(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	d := jstest.MustOpen(t, nc, 2)
	begun := mustBegin(t, d, 3)
	if _, err := d.Create(jstest.Context(t), begun.Next(), 1000); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveVoided(jstest.Context(t), begun); err != nil {
		t.Fatal(err)
	}
	if n := len(streams(t, nc)); n != 6 {
		t.Errorf("%d buckets are left of a change that is under way", n)
	}
	_, revision := mustRead(t, d)
	mustWrite(t, d, revision, begun.Void())
	second := mustBegin(t, d, 1)
	if next := second.Next(); next != (messages.Shards{Generation: 2, Count: 1}) {
		t.Errorf("the next one is %v", next)
	}
	if err := d.RemoveVoided(jstest.Context(t), second); err != nil {
		t.Fatal(err)
	}
	if got := streams(t, nc); len(got) != 3 {
		t.Errorf("there is %v", got)
	}
	created, err := d.Create(jstest.Context(t), second.Next(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	jstest.MustAppend(t, created.Bucket(0), 1000, jstest.Commit(1, 5, 10))
	_, err = d.Create(jstest.Context(t), second.Next(), 1000)
	jstest.WantError(t, err, jetstream.ErrNotEmpty, "HOLDFAST_2_0", "nats stream rm")
	_, err = beginRestore(t, nc, 1, 0)
	jstest.WantError(t, err, jetstream.ErrNotEmpty, "HOLDFAST_SHARDS")
}

// Who has no right to the register opens the first generation, and cannot change it.
func TestRegisterForbidden(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, `
		listen: "127.0.0.1:-1"
		jetstream { store_dir: "$DIR", sync_interval: always }
		authorization { users: [
			{ user: node, password: node },
			{ user: former, password: former, permissions: { publish: { deny: ["$JS.API.STREAM.INFO.KV_HOLDFAST_SHARDS"] } } },
			{ user: reader, password: reader, permissions: { publish: { deny: ["$KV.HOLDFAST_1_1.>"] } } },
		] }`)
	d := jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("node")), 2)
	if old := jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("former")), 0); old.Register() != nil {
		t.Error("it has a register")
	}
	begun := mustBegin(t, d, 2)
	if _, err := d.Create(jstest.Context(t), begun.Next(), 1000); err != nil {
		t.Fatal(err)
	}
	reader, err := jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("reader")), 0).Open(jstest.Context(t), begun.Next())
	if err != nil {
		t.Fatal(err)
	}
	jstest.WantError(t, reader.Try(jstest.Context(t)), jetstream.ErrForbidden, "HOLDFAST_1_1")
}
