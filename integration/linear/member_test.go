package linear_test

import (
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	extended = messages.Status_EXTENDED
	released = messages.Status_RELEASED
)

// inSession is a lease of a in its session, which ends no earlier than after a second, and what comes behind that.
func inSession(lines ...line) []line {
	return append([]line{acquire("a", 0, 1).granted(1).in()}, lines...)
}

// Each pair of histories is distinguished by one rule about leases in sessions.
var memberPairs = []struct {
	rule           string
	legal, illegal []line
}{
	{
		"a lease is in the session of its request",
		inSession(get(2, 3).held("a", 1).shown()),
		inSession(get(2, 3).held("a", 1)),
	},
	{
		"a lease does not run out before its session",
		inSession(acquire("b", 990, 1000).granted(2)),
		inSession(acquire("b", 980, 990).granted(2)),
	},
	{
		"a lease ends with its session, however late it was acquired",
		[]line{acquire("a", 500, 501).granted(1).in(), acquire("b", 990, 1000).granted(2)},
		[]line{acquire("a", 500, 501).granted(1).in(), acquire("b", 980, 990).granted(2)},
	},
	{
		"a keep lets the leases run on",
		inSession(keep(500, 501).gets(extended), acquire("b", 1490, 1500).granted(2)),
		inSession(keep(500, 501).gets(extended), acquire("b", 1010, 1020).granted(2)),
	},
	{
		"a session whose lease has run out is not kept",
		inSession(get(1000, 1001).free(1), keep(1002, 1003).gets(notHeld)),
		inSession(get(1000, 1001).free(1), keep(1002, 1003).gets(extended)),
	},
	{
		"a keep that is answered for all shards may be of other leases of the session",
		inSession(get(1000, 1001).free(1), keep(1002, 1003).former().gets(extended)),
		inSession(get(1000, 1001).free(1), keep(1002, 1003).gets(extended)),
	},
	{
		"a keep that is answered for all shards is of its leases, too",
		inSession(keep(500, 501).former().gets(extended), acquire("b", 1490, 1500).granted(2)),
		inSession(keep(500, 501).former().gets(extended), acquire("b", 1010, 1020).granted(2)),
	},
	{
		"a keep that is answered for all shards may come behind the end of the lease",
		inSession(keep(1002, 1003).former().gets(extended), acquire("b", 1010, 1020).granted(2)),
		inSession(keep(1002, 1003).gets(extended), acquire("b", 1010, 1020).granted(2)),
	},
	{
		"a session is known until its time",
		inSession(keep(1000, 1001).gets(notHeld)),
		inSession(keep(900, 901).gets(notHeld)),
	},
	{
		"an unknown session has no leases",
		inSession(keep(1000, 1001).gets(notHeld), get(1002, 1003).free(1)),
		inSession(keep(1000, 1001).gets(notHeld), get(1002, 1003).held("a", 1).shown()),
	},
	{
		"the end of a session is that of its leases",
		inSession(end(2, 3).gets(released), acquire("b", 4, 5).granted(2)),
		inSession(end(2, 3).gets(released), get(4, 5).held("a", 1).shown()),
	},
	{
		"an orphan goes on without its session",
		inSession(end(2, 3).orphan().gets(released), get(4, 5).held("a", 1)),
		inSession(end(2, 3).orphan().gets(released), get(4, 5).held("a", 1).shown()),
	},
	{
		"an orphan has the time that was left",
		inSession(end(500, 501).orphan().gets(released), acquire("b", 990, 1000).granted(2)),
		inSession(end(500, 501).orphan().gets(released), acquire("b", 980, 990).granted(2)),
	},
	{
		"only its owner ends a session",
		inSession(end(2, 3).stranger().gets(notOwner), get(4, 5).held("a", 1).shown()),
		inSession(end(2, 3).stranger().gets(released), get(4, 5).free(1)),
	},
	{
		"its owner is not taken for another one",
		inSession(end(2, 3).stranger().gets(notOwner)),
		inSession(end(2, 3).gets(notOwner)),
	},
	{
		"an extended lease leaves its session",
		inSession(extend("a", 2, 3).token(1).extended(1), get(4, 5).held("a", 1)),
		inSession(extend("a", 2, 3).token(1).extended(1), get(4, 5).held("a", 1).shown()),
	},
	{
		"a reentrant request prolongs no lease of a session",
		inSession(acquire("a", 500, 501).again().granted(1).shown(), acquire("b", 1010, 1020).granted(2)),
		inSession(acquire("a", 500, 501).again().granted(1), acquire("b", 1010, 1020).granted(2)),
	},
	{
		"a reentrant request moves no lease into a session",
		[]line{acquire("a", 0, 1).granted(1), acquire("a", 2, 3).again().granted(1)},
		[]line{acquire("a", 0, 1).granted(1), acquire("a", 2, 3).again().granted(1).in()},
	},
}

func TestHistoriesOfSessions(t *testing.T) {
	t.Parallel()
	for _, p := range memberPairs {
		t.Run(p.rule, func(t *testing.T) {
			t.Parallel()
			if _, err := linear.Check(t.Context(), history(p.legal), nil, nil, linear.Terms{}); err != nil {
				t.Errorf("legal: %v", err)
			}
			if _, err := linear.Check(t.Context(), history(p.illegal), nil, nil, linear.Terms{}); !errors.Is(err, linear.ErrViolated) {
				t.Errorf("illegal: %v", err)
			}
		})
	}
}

// What the answers show of a session is held against the journal.
func TestSessionsInTheJournal(t *testing.T) {
	t.Parallel()
	member := func(kind messages.Event_Kind, token uint64) *journal.Change {
		return &journal.Change{Kind: kind, Grant: &journal.Grant{
			Resource: theResource, Owner: "a", Token: token, TtlMs: 1000, RequestId: "a-0",
			Session: messages.SessionHash(theSession),
		}}
	}
	granted := member(messages.Event_ACQUIRED, 1)
	open := func(changes ...*journal.Change) *book {
		b := openBook()
		for _, c := range append([]*journal.Change{granted}, changes...) {
			b.put(&journal.Commit{Changes: []*journal.Change{c}})
		}
		return b
	}
	orphaned := member(messages.Event_EXTENDED, 1)
	orphaned.Grant.Session = nil
	valued := member(messages.Event_UPDATED, 1)
	valued.Grant.Metadata = map[string]string{"value": "y"}
	over := member(messages.Event_RELEASED, 1)
	over.Grant.Session = nil
	for what, test := range map[string]struct {
		legal   bool
		lines   []line
		journal *book
	}{
		"kept, and not behind its end": {true, inSession(keep(2, 3).gets(extended)),
			open(member(messages.Event_EXPIRED, 1))},
		"kept behind its end": {false, inSession(
			acquire("b", 1000, 1001).granted(2), release("b", 1002, 1003).released(), keep(1004, 1005).gets(extended),
		), open(member(messages.Event_EXPIRED, 1)).acquired("b", 2, "b-1000").ended(messages.Event_RELEASED, "b", 2,
			"b-1000")},
		"kept behind its end, in another shard": {true, inSession(
			acquire("b", 1000, 1001).granted(2), release("b", 1002, 1003).released(),
			keep(1004, 1005).former().gets(extended),
		), open(member(messages.Event_EXPIRED, 1)).acquired("b", 2, "b-1000").ended(messages.Event_RELEASED, "b", 2,
			"b-1000")},
		"ended": {true, inSession(end(2, 3).gets(released)),
			open(member(messages.Event_RELEASED, 1))},
		"ended without its lease": {false, inSession(end(2, 3).gets(released)), open()},
		"ended by a lost answer": {true, inSession(end(2, 3).unknown(), get(4, 5).free(1)),
			open(member(messages.Event_RELEASED, 1))},
		"orphaned": {true, inSession(end(2, 3).orphan().gets(released)), open(orphaned)},
		"orphaned by a lost answer": {true, inSession(end(2, 3).orphan().unknown(), get(4, 5).held("a", 1)),
			open(orphaned)},
		"orphaned, and released before the answer": {true, inSession(
			end(2, 20).orphan().gets(released), get(4, 5).held("a", 1), release("a", 6, 7).released(),
		), open(orphaned, over)},
		"set by the first of two sendings": {true, inSession(
			set("a", 2, 20).resent(10).updated().worth("y").shown(), get(4, 5).held("a", 1).worth("y").shown(),
		), open(valued)},
		"orphaned without a request": {false, inSession(), open(orphaned)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if _, err := linear.Check(t.Context(), history(test.lines), &test.journal.Journal, nil, linear.Terms{}); (err == nil) != test.legal {
				t.Error(err)
			}
		})
	}
}
