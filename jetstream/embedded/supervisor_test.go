package embedded_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/jetstream/members"
)

// NATS shuts its JetStream down when the disk is full, and starts it no more. The server does.
func TestStoresAgain(t *testing.T) {
	t.Parallel()
	log := jstest.NewRecorder()
	s := jstest.MustStart(t, func(c *embedded.Config) { c.Log = slog.New(log) })
	inside, outside := jstest.MustConnect(t, s), jstest.MustDial(t, s.ClientURL())
	d := jstest.MustOpen(t, inside, 1)
	jstest.MustFill(t, d.Bucket(0), 3)
	if err := s.Fault(); err != nil {
		t.Errorf("a fault at first: %v", err)
	}
	if err := s.StopJetStream(); err != nil {
		t.Fatal(err)
	}
	jstest.WaitFor(t, "the fault to be noticed", func() bool { return errors.Is(s.Fault(), embedded.ErrStore) })
	jstest.MustAppend(t, d.Bucket(0), 3, jstest.Commit(1, 4, 0))
	if got := jstest.MustReplay(t, jstest.MustOpen(t, outside, 0).Bucket(0), 0); got.Last != 4 {
		t.Errorf("the bucket holds\n%s", got.Describe())
	}
	jstest.WaitFor(t, "the fault to be over", func() bool { return s.Fault() == nil })
	for _, words := range []string{"cannot store on its disk", "stores on its disk again"} {
		if n := log.Count(words); n != 1 {
			t.Errorf("%d log lines %q, want one", n, words)
		}
		if level, _ := log.Find(words); level < slog.LevelWarn {
			t.Errorf("%q is only at level %v", words, level)
		}
	}
}

// A server that stops while it is in trouble stops cleanly.
func TestStopsInTrouble(t *testing.T) {
	t.Parallel()
	s := jstest.MustStart(t)
	if err := s.StopJetStream(); err != nil {
		t.Fatal(err)
	}
	jstest.WaitFor(t, "the fault to be noticed", func() bool { return s.Fault() != nil })
	s.Shutdown()
	jstest.MustStart(t, func(c *embedded.Config) { c.DataDir = s.DataDir() })
}

// The members report one that cannot store for as long as its disk takes no data.
func TestFaultIsShown(t *testing.T) {
	t.Parallel()
	m := jstest.MustMembers(t, 3)
	broken := m.Servers[1]
	mends := mustBreakDisk(t, broken.DataDir())
	if err := broken.StopJetStream(); err != nil {
		t.Fatal(err)
	}
	observer, err := embedded.Observe(jstest.Context(t), "", m.Configs[0].Routes, embedded.TLSFiles{}, jstest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(observer.Close)
	session, err := members.NewSession(observer)
	if err != nil {
		t.Fatal(err)
	}
	shows := func(want bool) func() bool {
		return func() bool {
			census, err := session.Report(t.Context())
			return err == nil && slices.ContainsFunc(census.Members, func(m *members.Member) bool {
				return m.Name == "n1" && (m.Fault != "") == want
			})
		}
	}
	jstest.WaitFor(t, "the fault to be shown", shows(true))
	jstest.WaitFor(t, "the disk to be tried", func() bool {
		return strings.Contains(fmt.Sprint(broken.Fault()), "holdfast.probe")
	})
	mends()
	jstest.WaitFor(t, "the fault to be over", shows(false))
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
