package watch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// hasty compacts its journals all the time and keeps next to nothing of them.
var hasty = actors.Tuning{CompactCommits: 100, History: 1}

// While the owner replaces, splits and purges what is being read, the present holders come as they
// were behind one commit, and the changes from that commit on.
func TestPresentWhileTheJournalIsCompacted(t *testing.T) {
	s := stand.Start(t, stand.Config{Shards: 1, Tuning: hasty})
	owner := client(t, s.Server.ClientURL(), holdfast.Defaults(holdfast.NoRenewal(), holdfast.TTL(24*time.Hour)))
	const lasting = 1500
	heavy := map[string]string{"ballast": strings.Repeat("x", 900)} // so that there are several pages
	for i := range lasting {
		stand.Value(owner.Acquire(t.Context(), fmt.Sprintf("lasting.%d", i), holdfast.Metadata(heavy)))(t)
	}
	l := startLoad(t, s.Server.ClientURL(), 8)
	c := client(t, s.Server.ClientURL())
	for range 10 {
		var b table
		b.begin()
		present, changes := 0, 0
		err := follow(t.Context(), c, ">", func(e holdfast.Event) error {
			switch e.Kind {
			case holdfast.EventPresent:
				present++
			case holdfast.EventBookmark:
				if present < lasting {
					t.Errorf("%d present, at least %d are", present, lasting)
				}
			default:
				if changes++; changes == 300 {
					return errTornDown
				}
			}
			return b.take(e)
		}, holdfast.Present())
		if !errors.Is(err, errTornDown) {
			t.Fatal(err)
		}
	}
	l.Stop()
	if first := firstCommit(t, s); first == 1 {
		t.Error("nothing was compacted")
	}
	for i := range lasting {
		stand.Must(t, owner.Break(t.Context(), fmt.Sprintf("lasting.%d", i), 1, "the test is over"))
	}
	stand.Eventually(t, "no lease is held", func() bool { return presentNow(t, c) == 0 })
}

func presentNow(t *testing.T, c *holdfast.Client) (n int) {
	t.Helper()
	for e, err := range c.Watch(t.Context(), ">", holdfast.Present()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == holdfast.EventBookmark {
			break
		}
		n++
	}
	return n
}

// firstCommit returns the number of the oldest commit there is.
func firstCommit(t *testing.T, s *stand.Stand) (number uint64) {
	t.Helper()
	stand.Value(s.Deployment.Bucket(0).Replay(t.Context(), 0, func(_ uint64, r *journal.Record) error {
		if c := r.GetCommit(); c != nil && number == 0 {
			number = c.GetNumber()
		}
		return nil
	}))(t)
	return number
}

// A loop that stands still for longer than the journal remembers gets an error, and nothing before that was
// left out. From the oldest position on it gets all that is left.
func TestStalledWatchIsToldOfTheGap(t *testing.T) {
	s := stand.Start(t, stand.Config{Shards: 1, Tuning: hasty})
	nc := stand.Dial(t, s.Server.ClientURL())
	c := stand.Client(t, nc)
	owner := client(t, s.Server.ClientURL())
	heavy := map[string]string{"ballast": strings.Repeat("x", 1000)}
	var positions []holdfast.Position
	var tokens []holdfast.Token
	var last holdfast.Token
	var gap *holdfast.CompactedError
	for e, err := range c.Watch(t.Context(), "orders.42", holdfast.Bookmarks(time.Hour),
		holdfast.Kinds(holdfast.EventAcquired)) {
		if errors.As(err, &gap) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Kind == holdfast.EventBookmark:
			turns(t, owner, 1)
			continue
		case len(tokens) == 0: // here it stands still
			before := nc.Stats().InBytes
			last = turns(t, owner, 2000, holdfast.Metadata(heavy))
			if grown := nc.Stats().InBytes - before; grown > 3<<20 {
				t.Errorf("%d bytes came, though none were read", grown)
			}
		}
		tokens, positions = append(tokens, e.Lease.Token), append(positions, e.Position())
	}
	if gap == nil || !errors.Is(gap, holdfast.ErrCompacted) || gap.Begins.IsZero() || gap.Shard != 0 {
		t.Fatalf("no gap was reported, but %v", gap)
	}
	for i, token := range tokens {
		if token != holdfast.Token(i+1) {
			t.Fatalf("token %d came behind %d others", token, i)
		}
	}
	rest := tokensFrom(t, c, gap.Oldest, last)
	if len(rest) == 0 || rest[0] <= tokens[len(tokens)-1]+1 {
		t.Errorf("got %v before the gap and %v behind it", tokens, rest)
	}
	if !slices.IsSorted(rest) || len(rest) != int(last-rest[0])+1 {
		t.Errorf("behind the gap: %v", rest)
	}
	t.Run("SavedPosition", func(t *testing.T) {
		wantCompacted(t, c, holdfast.From(positions[0]))
	})
	t.Run("Since", func(t *testing.T) {
		wantCompacted(t, c, holdfast.Since(time.Now().Add(-time.Hour)))
	})
}

// turns acquires and releases a resource so often, and returns the last token.
func turns(t *testing.T, c *holdfast.Client, n int, opts ...holdfast.AcquireOption) (last holdfast.Token) {
	t.Helper()
	for range n {
		l := stand.Value(c.Acquire(t.Context(), "orders.42", opts...))(t)
		last = l.Token()
		stand.Must(t, l.Release(t.Context()))
	}
	return last
}

// tokensFrom returns the tokens granted from a position on up to the last. What is compacted meanwhile it
// goes on behind.
func tokensFrom(t *testing.T, c *holdfast.Client, p holdfast.Position, last holdfast.Token) (tokens []holdfast.Token) {
	t.Helper()
	for len(tokens) == 0 || tokens[len(tokens)-1] != last {
		for e, err := range c.Watch(t.Context(), "orders.42", holdfast.From(p),
			holdfast.Kinds(holdfast.EventAcquired)) {
			if gap := (*holdfast.CompactedError)(nil); errors.As(err, &gap) {
				tokens, p = nil, gap.Oldest
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if tokens = append(tokens, e.Lease.Token); e.Lease.Token == last {
				break
			}
		}
	}
	return tokens
}

func wantCompacted(t *testing.T, c *holdfast.Client, from holdfast.WatchOption) {
	t.Helper()
	for e, err := range c.Watch(t.Context(), ">", from) {
		if gap := (*holdfast.CompactedError)(nil); !errors.As(err, &gap) || gap.Oldest.IsZero() {
			t.Errorf("got %v, %v", e, err)
		}
		break
	}
}
