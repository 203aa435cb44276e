package commands_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// compacted starts a node that keeps next to nothing of its journal, in which so much has happened that
// its beginning is gone, and stops it before more is.
func compacted(t *testing.T) *fakeNode {
	t.Helper()
	s := stand.Start(t, stand.Config{Shards: 1, Tuning: actors.Tuning{CompactCommits: 20, History: 1}})
	c, err := holdfast.New(s.Connect())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	for isWhole(t, c) {
		turn(t, c)
	}
	turn(t, c) // so that something is left
	return &fakeNode{url: s.Server.ClientURL()}
}

func turn(t *testing.T, c *holdfast.Client) {
	t.Helper()
	l, err := c.Acquire(t.Context(), "orders.42", holdfast.Owner("me"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func isWhole(t *testing.T, c *holdfast.Client) bool {
	t.Helper()
	for _, err := range c.Watch(t.Context(), ">", holdfast.Since(time.Time{}), holdfast.UntilNow()) {
		if errors.Is(err, holdfast.ErrCompacted) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return true
}

func TestHistoryOfACompactedJournal(t *testing.T) {
	t.Parallel()
	f := compacted(t)
	form := regexp.MustCompile(
		`^history begins at \d{4}-\S+\n(\S+ (acquired|released) orders\.42 by "me", token \d+, .*\n)+$`)
	for _, args := range [][]string{{"history", "orders.42"}, {"watch", "--since", "1h", "--count", "1"}} {
		if r := f.run(t.Context(), args...); r.code != 0 || r.stderr != "" || !form.MatchString(r.stdout) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	r := f.run(t.Context(), "history", "orders.42", "--json")
	if r.code != 0 || !strings.HasPrefix(r.stderr, "history begins at ") || strings.Contains(r.stdout, "begins") {
		t.Errorf("%+v", r)
	}
	f.run(t.Context(), "watch", "--position", "0:0").want(t, 1, "continue from there with --position 0:")
}
