package actors_test

import (
	"log/slog"
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

var _ actors.Journal = (*journaltest.Memory)(nil)

func TestMemoryConforms(t *testing.T) {
	journaltest.Conformance(t, func(*testing.T) journaltest.Journal { return journaltest.NewMemory() })
}

// checkJournal checks what must hold for every journal that begins with its first commit.
func checkJournal(t *testing.T, records []*journal.Record) {
	t.Helper()
	var number, epoch uint64
	var writer uint64
	for _, r := range records {
		c := r.GetCommit()
		if c == nil {
			continue
		}
		if number++; c.GetNumber() != number {
			t.Fatalf("commit %d stands where %d should", c.GetNumber(), number)
		}
		if c.GetOpened() {
			epoch, writer = epoch+1, c.GetWriter().GetIncarnation()
		}
		if c.GetEpoch() != epoch || c.GetWriter().GetIncarnation() != writer {
			t.Fatalf("commit %d is of epoch %d, written by %v, in epoch %d", number, c.GetEpoch(), c.GetWriter(), epoch)
		}
	}
}

func testLog(tb testing.TB) *slog.Logger {
	tb.Helper()
	return slog.New(slog.NewTextHandler(tb.Output(), nil))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
