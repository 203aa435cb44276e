package jetstream_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
)

// NATS shuts its JetStream down when the disk is full, and starts it no more. The server does.
func TestStoresAgain(t *testing.T) {
	t.Parallel()
	log := newRecorder()
	s := mustStart(t, func(c *jetstream.ServerConfig) { c.Log = slog.New(log) })
	inside, outside := mustConnect(t, s), mustDial(t, s.ClientURL())
	d := mustOpen(t, inside, 1)
	mustFill(t, d.Bucket(0), 3)
	if err := s.Fault(); err != nil {
		t.Errorf("a fault at first: %v", err)
	}
	if err := s.StopJetStream(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the fault to be noticed", func() bool { return errors.Is(s.Fault(), jetstream.ErrStore) })
	mustAppend(t, d.Bucket(0), 3, commit(1, 4, 0))
	if got := mustReplay(t, mustOpen(t, outside, 0).Bucket(0), 0); got.last != 4 {
		t.Errorf("the bucket holds\n%s", got.describe())
	}
	waitFor(t, "the fault to be over", func() bool { return s.Fault() == nil })
	for _, words := range []string{"cannot store on its disk", "stores on its disk again"} {
		if n := log.count(words); n != 1 {
			t.Errorf("%d log lines %q, want one", n, words)
		}
		if level, _ := log.find(words); level < slog.LevelWarn {
			t.Errorf("%q is only at level %v", words, level)
		}
	}
}

// A server that stops while it is in trouble stops cleanly.
func TestStopsInTrouble(t *testing.T) {
	t.Parallel()
	s := mustStart(t)
	if err := s.StopJetStream(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the fault to be noticed", func() bool { return s.Fault() != nil })
	s.Shutdown()
	mustStart(t, func(c *jetstream.ServerConfig) { c.DataDir = s.DataDir() })
}

// The members tell of one that cannot store for as long as its disk takes no data.
func TestFaultIsShown(t *testing.T) {
	t.Parallel()
	m := mustMembers(t, 3)
	broken := m.servers[1]
	mends := mustBreakDisk(t, broken.DataDir())
	if err := broken.StopJetStream(); err != nil {
		t.Fatal(err)
	}
	visitor, err := jetstream.Visit(testContext(t), "", m.configs[0].Routes, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(visitor.Leave)
	shows := func(want bool) func() bool {
		return func() bool {
			census, err := visitor.Census(t.Context())
			return err == nil && slices.ContainsFunc(census.Members, func(m *jetstream.Member) bool {
				return m.Name == "n1" && (m.Fault != "") == want
			})
		}
	}
	waitFor(t, "the fault to be shown", shows(true))
	waitFor(t, "the disk to be tried", func() bool { return strings.Contains(fmt.Sprint(broken.Fault()), "holdfast.probe") })
	mends()
	waitFor(t, "the fault to be over", shows(false))
}

// mustBreakDisk lets nothing be stored in a data directory, as far as a server finds out by trying. What it
// returns ends that.
func mustBreakDisk(t *testing.T, dir string) (mends func()) {
	t.Helper()
	inTheWay := filepath.Join(dir, "holdfast.probe")
	if err := os.MkdirAll(filepath.Join(inTheWay, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
	}
}
