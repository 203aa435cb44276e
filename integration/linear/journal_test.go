package linear_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	wasExtended = messages.Event_EXTENDED
	wasReleased = messages.Event_RELEASED
	wasExpired  = messages.Event_EXPIRED
	wasBroken   = messages.Event_BROKEN
)

const gone = "the client was gone"

// ledger is a history with its journal. Without a complaint it is in order; else the complaint of that check has that
// text.
type ledger struct {
	name          string
	script        []line
	journal       *book
	check, wanted string
}

var ledgers = []ledger{
	{
		name:    "in order",
		script:  []line{acquire("a", 0, 1).granted(1), release("a", 2, 3).token(1).released()},
		journal: openBook().acquired("a", 1, "a-0").ended(wasReleased, "a", 1, "a-0"),
	},
	{
		name:    "a grant without an answer explains the next token",
		script:  []line{acquire("a", 0, 0).unknown(), get(5, 6).held("a", 1), breaks(1, 7, 8).released()},
		journal: openBook().acquired("a", 1, "a-0").change(wasBroken, "a", 1, 1000, "a-0", "7"),
	},
	{
		name: "a late copy of an extend without a token shortens a later lease of its owner",
		script: []line{
			acquire("a", 0, 1).granted(1), extend("a", 10, 21).ttl(300).resent(20).extended(1),
			release("a", 30, 31).token(1).released(), acquire("a", 40, 41).granted(2), acquire("b", 500, 501).granted(3),
		},
		journal: openBook().acquired("a", 1, "a-0").change(wasExtended, "a", 1, 300, "a-0", "").
			change(wasReleased, "a", 1, 300, "a-0", "").acquired("a", 2, "a-40").
			change(wasExtended, "a", 2, 300, "a-40", "").change(wasExpired, "a", 2, 300, "a-40", "").
			acquired("b", 3, "b-500"),
	},
	{
		name:    "what is not in the journal has not happened",
		script:  []line{acquire("a", 0, 0).unknown(), get(5, 6).held("a", 1)},
		journal: openBook(),
		check:   "model", wanted: "no order",
	},
	{
		name:   "a grant that was taken back counts as released",
		script: []line{acquire("a", 0, 0).wait(10).unknown(), acquire("b", 5, 6).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").change(wasReleased, "a", 1, 1000, "a-0", gone).acquired("b", 2,
			"b-5"),
	},
	{
		name:    "one request, two grants, when it was sent twice",
		script:  besides(acquire("a", 0, 2001).resent(2000).granted(3)),
		journal: grantedAgainByAnotherOwner().ended(wasExpired, "a", 3, "a-0"),
	},
	{
		name:    "one request, two grants of one owner",
		script:  besides(acquire("a", 0, 2001).resent(2000).granted(3)),
		journal: grantedBetween().acquired("a", 3, "a-0").ended(wasExpired, "a", 3, "a-0"),
		check:   "journal", wanted: "was granted before, and its lease had ended",
	},
	{
		name:   "one request, two grants, and the first was the last that the owner before knew",
		script: []line{acquire("a", 0, 2001).resent(2000).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").ended(wasExpired, "a", 1, "a-0").opened().acquired("a", 2,
			"a-0").ended(wasExpired, "a", 2, "a-0"),
		check: "journal", wanted: "was granted before, and its lease had ended",
	},
	{
		name: "a reentrant request ends with the lease that it shared",
		script: []line{
			acquire("a", 0, 1).granted(1), acquire("a", 10, 11).ttl(500).again().granted(1), get(1100, 1101).free(1),
			release("a", 1200, 1201).id("a-10").gets(expired),
		},
		journal: openBook().acquired("a", 1, "a-0").ended(wasExpired, "a", 1, "a-0"),
	},
	{
		name: "a request that shared no lease has not ended",
		script: []line{
			acquire("a", 0, 1).granted(1), acquire("a", 10, 11).ttl(500).held("a", 1), get(1100, 1101).free(1),
			release("a", 1200, 1201).id("a-10").gets(expired),
		},
		journal: openBook().acquired("a", 1, "a-0").ended(wasExpired, "a", 1, "a-0"),
		check:   "answers", wanted: "no such end of a lease is in the journal",
	},
	{
		name: "a lease that is downgraded twice",
		script: []line{
			acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(3).ttl(1001).extended(2).as(3, "0", 2),
			extend("a", 4, 5).token(2).limit(9).ttl(1002).extended(3).as(9, "0", 3),
		},
		journal: openBook().acquired("a", 1, "a-0").downgraded(1, 2, 3, 1000, 1001).downgraded(2, 3, 9, 1001, 1002),
	},
	{
		name: "a downgrade that was not asked for",
		script: []line{
			acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(3).ttl(1001).extended(2).as(3, "0", 2),
		},
		journal: openBook().acquired("a", 1, "a-0").downgraded(1, 2, 3, 1000, 1001).downgraded(2, 3, 9, 1001, 1002),
		check:   "answers", wanted: "no request has asked for this",
	},
	{
		name:    "a request that was not withdrawn",
		script:  []line{acquire("a", 0, 1).gets(cancelled)},
		journal: openBook(),
		check:   "answers", wanted: "no release has withdrawn it",
	},
	{
		name:    "a request that was withdrawn and is granted",
		script:  withdrawn(acquire("a", 20, 21).id("a-1").granted(2)),
		journal: heldMeanwhile().acquired("a", 2, "a-1"),
		check:   "answers", wanted: "was withdrawn before",
	},
	{
		name:    "a request that was withdrawn and is granted by another owner",
		script:  withdrawn(acquire("a", 20, 21).id("a-1").granted(2)),
		journal: heldMeanwhile().openedAt(time.Now().Add(time.Hour)).acquired("a", 2, "a-1"),
	},
	{
		name:    "a late copy that gets another request's lease",
		script:  besides(acquire("a", 0, 1).granted(1), acquire("a", 1200, 1201).shows(expired, "a", 1)),
		journal: grantedBetween(),
		check:   "answers", wanted: "no such end of a lease",
	},
	{
		name:    "one request, two grants, when it was sent once",
		script:  []line{acquire("a", 0, 2001).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").ended(wasExpired, "a", 1, "a-0").acquired("a", 2, "a-0"),
		check:   "answers", wanted: "carried out 2 times",
	},
	{
		name: "a grant that only a reentrant request was answered with",
		script: besides(acquire("a", 0, 1200).resent(0).granted(1), get(1250, 1251).held("a", 3),
			acquire("a", 1300, 1301).again().ttl(500).granted(3)),
		journal: grantedAgainByAnotherOwner(),
	},
	{
		name: "a grant that was seen before the request came again that was answered with it",
		script: besides(acquire("a", 0, 1200).resent(0).granted(1), get(1250, 1251).held("a", 3),
			acquire("a", 1300, 1301).id("a-0").granted(3)),
		journal: grantedAgainByAnotherOwner(),
	},
	{
		name: "an extension without an answer is known by its TTL",
		script: []line{acquire("a", 0, 1).granted(1), extend("a", 2, 0).token(1).ttl(100).unknown(),
			acquire("b", 110, 111).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").change(wasExtended, "a", 1, 100, "a-0", "").change(wasExpired, "a",
			1, 100, "a-0", "").acquired("b", 2, "b-110"),
	},
	{
		name: "an extension that never happened",
		script: []line{acquire("a", 0, 1).granted(1), extend("a", 2, 0).token(1).ttl(100).unknown(),
			acquire("b", 110, 111).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").ended(wasExpired, "a", 1, "a-0").acquired("b", 2, "b-110"),
		check:   "model", wanted: "no order",
	},
	{
		name: "many sendings of one request that all prolonged, and a grant that comes too early",
		script: []line{acquire("a", 0, 1).granted(1), acquire("a", 3, 0).again().ttl(500).unknown().copies(40),
			acquire("b", 110, 111).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").changes(40, wasExtended, "a", 1, 500, "a-0").change(wasExpired, "a",
			1, 500, "a-0", "").acquired("b", 2, "b-110"),
		check: "model", wanted: "no order",
	},
	{
		name: "a release without an answer",
		script: []line{acquire("a", 0, 1).granted(1), release("a", 2, 0).token(1).unknown(),
			acquire("b", 50, 51).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").ended(wasReleased, "a", 1, "a-0").acquired("b", 2, "b-50"),
	},
	{
		name:   "a break without an answer is known by its reason",
		script: []line{acquire("a", 0, 1).granted(1), breaks(1, 2, 0).unknown(), acquire("b", 50, 51).granted(2)},
		journal: openBook().acquired("a", 1, "a-0").change(wasBroken, "a", 1, 1000, "a-0", "2").acquired("b", 2,
			"b-50"),
	},
	{
		name:    "a grant that is in no journal",
		script:  []line{acquire("a", 0, 1).granted(1)},
		journal: openBook(),
		check:   "answers", wanted: "no such grant",
	},
	{
		name:    "a grant of another request",
		script:  []line{acquire("a", 0, 1).granted(1)},
		journal: openBook().acquired("a", 1, "z"),
		check:   "answers", wanted: "another request's",
	},
	{
		name:    "an extension that is in no journal",
		script:  []line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).extended(1)},
		journal: openBook().acquired("a", 1, "a-0"),
		check:   "answers", wanted: "no such extension",
	},
	{
		name:    "a release that is in no journal",
		script:  []line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released()},
		journal: openBook().acquired("a", 1, "a-0"),
		check:   "answers", wanted: "no such end",
	},
	{
		name:    "it is free, and the journal does not say why",
		script:  []line{acquire("a", 0, 1).granted(1), get(2000, 2001).free(1)},
		journal: openBook().acquired("a", 1, "a-0"),
		check:   "answers", wanted: "has not ended",
	},
	{
		name:    "it has run out, and the journal says that it was released",
		script:  []line{acquire("a", 0, 1).granted(1), release("a", 2000, 2001).token(1).gets(expired)},
		journal: openBook().acquired("a", 1, "a-0").ended(wasReleased, "a", 1, "a-0"),
		check:   "answers", wanted: "neither run out nor been broken",
	},
	{
		name:    "a change without a request",
		script:  []line{acquire("a", 0, 1).granted(1)},
		journal: openBook().acquired("a", 1, "a-0").ended(wasReleased, "a", 1, "a-0"),
		check:   "answers", wanted: "no request has asked for this",
	},
	{
		name:    "a change that was refused",
		script:  []line{acquire("a", 0, 1).gets(messages.Status_UNAVAILABLE)},
		journal: openBook().acquired("a", 1, "a-0"),
		check:   "answers", wanted: "no request has asked for this",
	},
	{
		name:    "a change that was seen before it was asked for",
		script:  []line{get(0, 1).held("a", 1), acquire("a", 5, 6).granted(1)},
		journal: openBook().acquired("a", 1, "a-5"),
		check:   "answers", wanted: "not asked for before",
	},
	{
		name:    "a lease that was seen to have run out before its time",
		script:  []line{acquire("a", 0, 1).granted(1), get(500, 501).free(1)},
		journal: openBook().acquired("a", 1, "a-0").put(at1(2000, wasExpired)),
		check:   "answers", wanted: "before its time",
	},
	{
		name:    "a gap",
		journal: openBook().put(&journal.Commit{Number: 3}),
		check:   "journal", wanted: "follows commit 1",
	},
}

// at1 is a commit with one change of token 1, at a time by the owner's clock.
func at1(unixMillis int64, kind messages.Event_Kind) *journal.Commit {
	return &journal.Commit{AtMs: unixMillis, Changes: []*journal.Change{{Kind: kind, Grant: &journal.Grant{
		Resource: theResource, Owner: "a", Token: 1, TtlMs: 1000, RequestId: "a-0", AcquiredAtMs: unixMillis,
	}}}}
}

func TestJournals(t *testing.T) {
	t.Parallel()
	judge(t, ledgers)
}

func judge(t *testing.T, ledgers []ledger) {
	t.Helper()
	for _, l := range ledgers {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			report, err := linear.Check(t.Context(), history(l.script), &l.journal.Journal, nil, linear.Terms{})
			if l.wanted == "" && err != nil {
				t.Error(err)
			}
			if l.wanted != "" && !said(report, l.check, l.wanted) {
				t.Errorf("%s does not say %q: %v", l.check, l.wanted, err)
			}
		})
	}
}

// A journal that contradicts itself is not replayed; the service's own replay would stumble over it.
func TestReplayOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := openBook().acquired("a", 1, "a-0").opened()
	if _, err := linear.Check(t.Context(), history([]line{acquire("a", 0, 1).granted(1)}), &b.Journal, nil,
		linear.Terms{}); err != nil {
		t.Error(err)
	}
}
