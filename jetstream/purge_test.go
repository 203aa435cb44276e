package jetstream_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func mustPurge(tb testing.TB, b *jetstream.Bucket, through uint64, pages ...string) {
	tb.Helper()
	if err := b.Purge(jstest.Context(tb), through, pages); err != nil {
		tb.Fatal(err)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	fill := func(t *testing.T) (*jetstream.Bucket, *nats.Conn) {
		t.Helper()
		b, nc := jstest.MustBucket(t)
		jstest.MustFill(t, b, 2)
		jstest.MustAppend(t, b, 2, jstest.Page(0, 0, 2, 10))
		jstest.MustAppend(t, b, 3, jstest.Commit(1, 3, 10))
		jstest.MustAppend(t, b, 4, jstest.Page(0, 1, 3, 10))
		jstest.MustAppend(t, b, 5, jstest.Page(1, 1, 3, 10))
		jstest.MustAppend(t, b, 6, jstest.Commit(1, 4, 10))
		return b, nc
	}
	all := []string{
		"1: commit 1 of epoch 1", "2: commit 2 of epoch 1", "3: page p at commit 2", "4: commit 3 of epoch 1",
		"5: page p0 at commit 3", "6: page p1 at commit 3", "7: commit 4 of epoch 1",
	}
	for _, test := range []struct {
		name    string
		through uint64
		pages   []string
		want    []string
	}{
		{"Nothing", 0, nil, all},
		{"Commits", 2, nil, all[2:]},
		{"CommitsBetweenPages", 5, nil, []string{all[2], all[4], all[5], all[6]}},
		{"NeverTheNewest", 7, nil, []string{all[2], all[4], all[5], all[6]}},
		{"FarBeyond", 1 << 40, nil, []string{all[2], all[4], all[5], all[6]}},
		{"Page", 0, []string{"p"}, []string{all[0], all[1], all[3], all[4], all[5], all[6]}},
		{"Pages", 4, []string{"p", "p1"}, []string{all[4], all[6]}},
		{"UnknownPage", 0, []string{"p000"}, all},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, _ := fill(t)
			mustPurge(t, b, test.through, test.pages...)
			wantStored(t, jstest.MustReplay(t, b, 0), 7, test.want...)
			mustPurge(t, b, test.through, test.pages...)
			wantStored(t, jstest.MustReplay(t, b, 0), 7, test.want...)
			jstest.MustAppend(t, b, 7, jstest.Commit(1, 5, 10))
		})
	}
	t.Run("DeposedOwner", func(t *testing.T) {
		t.Parallel()
		b, nc := fill(t)
		next := jstest.MustOpen(t, nc, 1).Bucket(0)
		jstest.MustAppend(t, next, 7, jstest.Commit(2, 5, 10))
		jstest.MustAppend(t, next, 8, jstest.Page(0, 0, 5, 10))
		jstest.MustAppend(t, next, 9, jstest.Commit(2, 6, 10))
		mustPurge(t, b, 9, "p", "p0")
		wantStored(t, jstest.MustReplay(t, b, 0), 10, all[5], all[6],
			"8: commit 5 of epoch 2", "9: page p at commit 5", "10: commit 6 of epoch 2")
	})
	t.Run("HasWrittenNothing", func(t *testing.T) {
		t.Parallel()
		_, nc := fill(t)
		b := jstest.MustOpen(t, nc, 1).Bucket(0)
		mustPurge(t, b, 7, "p", "p0")
		wantStored(t, jstest.MustReplay(t, b, 0), 7, all...)
	})
}

// The oldest commit is the one behind those that were purged, whatever pages stand before it.
func TestFirst(t *testing.T) {
	t.Parallel()
	b, nc := jstest.MustBucket(t)
	want := func(number uint64) {
		t.Helper()
		if got, err := b.First(jstest.Context(t)); got != number || err != nil {
			t.Errorf("the oldest commit is %d, error %v, want %d", got, err, number)
		}
	}
	want(0)
	jstest.MustFill(t, b, 3)
	jstest.MustAppend(t, b, 3, jstest.Page(0, 0, 3, 10))
	jstest.MustAppend(t, b, 4, jstest.Commit(1, 4, 10))
	want(1)
	mustPurge(t, b, 2)
	want(3)
	mustPurge(t, b, 4)
	want(4)
	if _, err := jstest.MustJetStream(t, nc).Publish(jstest.Context(t), "$KV.HOLDFAST_0.journal.4",
		[]byte("no record")); err != nil {
		t.Fatal(err)
	}
	_, err := b.First(jstest.Context(t))
	jstest.WantError(t, err, journal.ErrCorrupt, "HOLDFAST_0, position 6, journal.4")
}

func TestPurgeInSteps(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	b := m.Bucket()
	const commits = 2500
	jstest.MustFill(t, b, commits)
	mustPurge(t, b, 200)
	before := m.Count("$JS.API.STREAM.PURGE.")
	// While it goes on, the writer goes on.
	last, appended := uint64(commits), 0
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if jstest.IsPurge(request) {
			jstest.MustAppend(t, m.Other(), last, jstest.Commit(1, last+1, 10))
			last++
			appended++
		}
		return jstest.Pass
	})
	mustPurge(t, b, commits-100)
	if calls := m.Count("$JS.API.STREAM.PURGE.") - before; calls != 3 || appended != 3 {
		t.Errorf("%d steps, %d appends between them, want 3", calls, appended)
	}
	got := jstest.MustReplay(t, b, 0)
	if len(got.Records) != 103 || got.Positions[0] != commits-99 || got.Last != last {
		t.Errorf("%d records are left, from %d to %d", len(got.Records), got.Positions[0], got.Last)
	}
}

// What is before all pages goes in few steps, which drop files: they have no filter.
func TestPurgeBeforePages(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	b := m.Bucket()
	const commits = 2500
	jstest.MustFill(t, b, commits)
	jstest.MustAppend(t, b, commits, jstest.Page(0, 0, commits, 10))
	jstest.MustAppend(t, b, commits+1, jstest.Commit(1, commits+1, 10))
	jstest.MustAppend(t, b, commits+2, jstest.Commit(1, commits+2, 10))
	var purges []string
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if jstest.IsPurge(request) {
			purges = append(purges, string(request.Data))
		}
		return jstest.Pass
	})
	mustPurge(t, b, commits-100)
	if want := []string{`{"seq":2401}`}; !slices.Equal(purges, want) {
		t.Errorf("the purges are %q, want %q", purges, want)
	}
	purges = nil
	mustPurge(t, b, commits+2)
	if want := []string{`{"seq":2501}`, `{"seq":2503,"filter":"$KV.HOLDFAST_0.journal.\u003e"}`}; !slices.Equal(purges, want) {
		t.Errorf("the purges are %q, want %q", purges, want)
	}
	wantStored(t, jstest.MustReplay(t, b, 0), commits+3, "2501: page p at commit 2500", "2503: commit 2502 of epoch 1")
}

// A deposed leader that answers may know none of the pages that the bucket has.
func TestPurgeDeposedLeader(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	b := m.Bucket()
	jstest.MustFill(t, b, 2)
	jstest.MustAppend(t, b, 2, jstest.Page(0, 0, 2, 10))
	jstest.MustAppend(t, b, 3, jstest.Commit(1, 3, 10))
	jstest.MustAppend(t, b, 4, jstest.Commit(1, 4, 10))
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if jstest.IsLook(request) && strings.Contains(string(request.Data), ".state.") {
			return jstest.Refuse(404, 10037, "no message found")
		}
		return jstest.Pass
	})
	mustPurge(t, b, 4)
	wantStored(t, jstest.MustReplay(t, b, 0), 5, "3: page p at commit 2", "5: commit 4 of epoch 1")
}

func TestPurgeErrors(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	b := m.Bucket()
	jstest.MustFill(t, b, 3)
	t.Run("Refused", func(t *testing.T) {
		m.OnRequests(func(request *nats.Msg) jstest.Action {
			if jstest.IsPurge(request) {
				return jstest.Refuse(503, 10008, "JetStream system temporarily unavailable")
			}
			return jstest.Pass
		})
		err := b.Purge(jstest.Context(t), 2, nil)
		jstest.WantAPIError(t, err, 10008)
		err = b.Purge(jstest.Context(t), 0, []string{"p"})
		jstest.WantAPIError(t, err, 10008)
	})
	t.Run("ContextEnds", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		jstest.WantError(t, b.Purge(ctx, 2, nil), context.Canceled, jstest.BucketName)
	})
	m.OnRequests(nil)
	if got := jstest.MustReplay(t, b, 0); len(got.Records) != 3 {
		t.Errorf("removed all the same:\n%s", got.Describe())
	}
}
