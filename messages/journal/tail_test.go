package journal_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestTailFollow(t *testing.T) {
	last := journal.Tail{Number: 7, Epoch: 3}
	for name, test := range map[string]struct {
		tail   journal.Tail
		commit *journal.Commit
		want   string // part of the error; empty: the commit follows
	}{
		"first of a bucket":      {journal.Tail{}, &journal.Commit{Number: 1, Epoch: 1, Opened: true}, ""},
		"first that is retained": {journal.Tail{}, &journal.Commit{Number: 70, Epoch: 9}, ""},
		"next":                   {last, &journal.Commit{Number: 8, Epoch: 3}, ""},
		"next owner":             {last, &journal.Commit{Number: 8, Epoch: 4, Opened: true}, ""},
		"repeated":               {last, &journal.Commit{Number: 7, Epoch: 3}, "it follows commit 7"},
		"gap":                    {last, &journal.Commit{Number: 9, Epoch: 3}, "it follows commit 7"},
		"gap before next owner":  {last, &journal.Commit{Number: 9, Epoch: 4, Opened: true}, "it follows commit 7"},
		"deposed writer":         {last, &journal.Commit{Number: 8, Epoch: 2}, "it follows epoch 3"},
		"next epoch, not opened": {last, &journal.Commit{Number: 8, Epoch: 4}, "it follows epoch 3"},
		"opened, same epoch":     {last, &journal.Commit{Number: 8, Epoch: 3, Opened: true}, "it follows epoch 3"},
		"opened, epoch skipped":  {last, &journal.Commit{Number: 8, Epoch: 5, Opened: true}, "it follows epoch 3"},
	} {
		t.Run(name, func(t *testing.T) {
			tail, want := test.tail, test.tail
			if test.want == "" {
				want = journal.Tail{Number: test.commit.GetNumber(), Epoch: test.commit.GetEpoch()}
			}
			wantCorrupt(t, tail.Follow(test.commit), test.want)
			if tail != want {
				t.Errorf("the tail is %+v, want %+v", tail, want)
			}
		})
	}
}

func TestTailCheck(t *testing.T) {
	last := journal.Tail{Number: 7, Epoch: 3}
	for name, test := range map[string]struct {
		tail journal.Tail
		page *journal.Page
		want string
	}{
		"before any commit":        {journal.Tail{}, &journal.Page{Number: 7, Epoch: 3}, ""},
		"behind the last commit":   {last, &journal.Page{Number: 7, Epoch: 3}, ""},
		"behind an earlier commit": {last, &journal.Page{Number: 6, Epoch: 3}, "behind commit 6 of epoch 3"},
		"behind a missing commit":  {last, &journal.Page{Number: 8, Epoch: 3}, "behind commit 8 of epoch 3"},
		"of a deposed writer":      {last, &journal.Page{Number: 7, Epoch: 2}, "behind commit 7 of epoch 2"},
	} {
		t.Run(name, func(t *testing.T) { wantCorrupt(t, test.tail.Check(test.page), test.want) })
	}
}

// Of a journal that was read from anywhere, the tail accepts each commit once and in order, and nothing else.
func TestTailAcceptsOnlyTheNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []*journal.Commit{{Number: 1, Epoch: 1, Opened: true}}
		for _, opened := range rapid.SliceOfN(rapid.Bool(), 1, 20).Draw(t, "opened") {
			next := &journal.Commit{Number: all[len(all)-1].GetNumber() + 1, Epoch: all[len(all)-1].GetEpoch(),
				Opened: opened}
			if opened {
				next.Epoch++
			}
			all = append(all, next)
		}
		var tail journal.Tail
		last := -1
		for _, i := range rapid.SliceOf(rapid.IntRange(0, len(all)-1)).Draw(t, "read") {
			follows := last < 0 || i == last+1
			if err := tail.Follow(all[i]); (err == nil) != follows {
				t.Fatalf("commit %d after %d: %v", i, last, err)
			}
			if follows {
				last = i
			}
		}
	})
}

// wantCorrupt fails unless err is an ErrCorrupt with these words; nil if there are none.
func wantCorrupt(t *testing.T, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("refused: %v", err)
	case words != "" && (!errors.Is(err, journal.ErrCorrupt) || !strings.Contains(err.Error(), words)):
		t.Errorf("got %v, want %v with %q", err, journal.ErrCorrupt, words)
	}
}
