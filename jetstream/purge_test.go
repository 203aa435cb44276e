package jetstream_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
)

func mustPurge(tb testing.TB, b *jetstream.Bucket, through uint64, pages ...string) {
	tb.Helper()
	if err := b.Purge(testContext(tb), through, pages); err != nil {
		tb.Fatal(err)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	fill := func(t *testing.T) (*jetstream.Bucket, *nats.Conn) {
		t.Helper()
		b, nc := mustBucket(t)
		mustFill(t, b, 2)
		mustAppend(t, b, 2, page(0, 0, 2, 10))
		mustAppend(t, b, 3, commit(1, 3, 10))
		mustAppend(t, b, 4, page(0, 1, 3, 10))
		mustAppend(t, b, 5, page(1, 1, 3, 10))
		mustAppend(t, b, 6, commit(1, 4, 10))
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
			wantStored(t, mustReplay(t, b, 0), 7, test.want...)
			mustPurge(t, b, test.through, test.pages...)
			wantStored(t, mustReplay(t, b, 0), 7, test.want...)
			mustAppend(t, b, 7, commit(1, 5, 10))
		})
	}
	t.Run("DeposedOwner", func(t *testing.T) {
		t.Parallel()
		b, nc := fill(t)
		next := mustOpen(t, nc, 1).Bucket(0)
		mustAppend(t, next, 7, commit(2, 5, 10))
		mustAppend(t, next, 8, page(0, 0, 5, 10))
		mustAppend(t, next, 9, commit(2, 6, 10))
		mustPurge(t, b, 9, "p", "p0")
		wantStored(t, mustReplay(t, b, 0), 10, all[5], all[6],
			"8: commit 5 of epoch 2", "9: page p at commit 5", "10: commit 6 of epoch 2")
	})
	t.Run("HasWrittenNothing", func(t *testing.T) {
		t.Parallel()
		_, nc := fill(t)
		b := mustOpen(t, nc, 1).Bucket(0)
		mustPurge(t, b, 7, "p", "p0")
		wantStored(t, mustReplay(t, b, 0), 7, all...)
	})
}

func TestPurgeInSteps(t *testing.T) {
	t.Parallel()
	m := newMiddle(t)
	b := m.bucket()
	const commits = 2500
	mustFill(t, b, commits)
	mustPurge(t, b, 200)
	before := m.count("$JS.API.STREAM.PURGE.")
	// While it goes on, the writer goes on.
	last, appended := uint64(commits), 0
	m.onRequests(func(request *nats.Msg) action {
		if isPurge(request) {
			mustAppend(t, m.other(), last, commit(1, last+1, 10))
			last++
			appended++
		}
		return pass
	})
	mustPurge(t, b, commits-100)
	if calls := m.count("$JS.API.STREAM.PURGE.") - before; calls != 3 || appended != 3 {
		t.Errorf("%d steps, %d appends between them, want 3", calls, appended)
	}
	got := mustReplay(t, b, 0)
	if len(got.records) != 103 || got.positions[0] != commits-99 || got.last != last {
		t.Errorf("%d records are left, from %d to %d", len(got.records), got.positions[0], got.last)
	}
}

func TestPurgeErrors(t *testing.T) {
	t.Parallel()
	m := newMiddle(t)
	b := m.bucket()
	mustFill(t, b, 3)
	t.Run("Refused", func(t *testing.T) {
		m.onRequests(func(request *nats.Msg) action {
			if isPurge(request) {
				return refuse(503, 10008, "JetStream system temporarily unavailable")
			}
			return pass
		})
		err := b.Purge(testContext(t), 2, nil)
		wantAPIError(t, err, 10008)
		err = b.Purge(testContext(t), 0, []string{"p"})
		wantAPIError(t, err, 10008)
	})
	t.Run("ContextEnds", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantError(t, b.Purge(ctx, 2, nil), context.Canceled, bucketName)
	})
	m.onRequests(nil)
	if got := mustReplay(t, b, 0); len(got.records) != 3 {
		t.Errorf("removed all the same:\n%s", got.describe())
	}
}
