package linear_test

import (
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	cancelled  = messages.Status_CANCELLED
	timeout    = messages.Status_TIMEOUT
	expired    = messages.Status_EXPIRED
	notHeld    = messages.Status_NOT_HELD
	notOwner   = messages.Status_NOT_OWNER
	staleToken = messages.Status_STALE_TOKEN
)

// One rule distinguishes each pair of histories. They have no journal, so it is a rule of the model or of the
// arithmetic.
var pairs = []struct {
	rule           string
	legal, illegal []line
}{
	{
		"tokens begin with 1",
		[]line{acquire("a", 0, 1).granted(1)},
		[]line{acquire("a", 0, 1).granted(2)},
	},
	{
		"tokens grow by one",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), acquire("b", 4, 5).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), acquire("b", 4, 5).granted(3)},
	},
	{
		"a token is issued once",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), acquire("a", 4, 5).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), acquire("a", 4, 5).granted(1)},
	},
	{
		"one holder at a time",
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 3).held("a", 1)},
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 3).granted(2)},
	},
	{
		"a lease has the value of its request",
		[]line{acquire("a", 0, 1).granted(1).worth("x"), get(2, 3).held("a", 1).worth("x")},
		[]line{acquire("a", 0, 1).granted(1).worth("x"), get(2, 3).held("a", 1)},
	},
	{
		"a lease has the value that it was given last",
		[]line{acquire("a", 0, 1).granted(1).worth("x"), set("a", 2, 3).updated().worth("y"),
			get(4, 5).held("a", 1).worth("y")},
		[]line{acquire("a", 0, 1).granted(1).worth("x"), set("a", 2, 3).updated().worth("y"),
			get(4, 5).held("a", 1).worth("x")},
	},
	{
		"a set leaves the time of the lease",
		[]line{acquire("a", 0, 1).granted(1), set("a", 500, 501).updated().worth("y"),
			acquire("b", 999, 1001).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), set("a", 500, 501).updated().worth("y"),
			acquire("b", 990, 998).granted(2)},
	},
	{
		"only its owner gives a lease a value",
		[]line{acquire("a", 0, 1).granted(1), set("b", 2, 3).token(1).shows(notOwner, "a", 1)},
		[]line{acquire("a", 0, 1).granted(1), set("b", 2, 3).token(1).updated().worth("y")},
	},
	{
		"a set without an answer may have happened",
		[]line{acquire("a", 0, 1).granted(1), set("a", 2, 3).worth("y").unknown(), get(4, 5).held("a", 1).worth("y")},
		[]line{acquire("a", 0, 1).granted(1), set("a", 2, 3).worth("y").unknown(), get(4, 5).held("a", 1).worth("z")},
	},
	{
		"what overlaps may come in either order",
		[]line{acquire("a", 0, 9).granted(2), acquire("b", 0, 9).granted(1), release("b", 0, 9).released()},
		[]line{acquire("a", 0, 9).granted(2), acquire("b", 10, 19).granted(1), release("b", 20, 29).released()},
	},
	{
		"a lease runs out after its TTL, and no earlier",
		[]line{acquire("a", 0, 5).granted(1), acquire("b", 990, 1000).granted(2)},
		[]line{acquire("a", 0, 5).granted(1), acquire("b", 980, 990).granted(2)},
	},
	{
		"the TTL counts from when the request was sent",
		[]line{acquire("a", 0, 500).granted(1), acquire("b", 1001, 1002).granted(2)},
		[]line{acquire("a", 490, 500).granted(1), acquire("b", 1001, 1002).granted(2)},
	},
	{
		"the lease of one who waited begins no earlier than the one before ends",
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 800).wait(900).granted(2),
			release("a", 700, 800).released(), acquire("c", 1700, 1701).granted(3)},
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 800).wait(900).granted(2),
			release("a", 700, 800).released(), acquire("c", 1600, 1601).granted(3)},
	},
	{
		"an extension counts from when it was sent",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 500, 501).token(1).extended(1),
			acquire("b", 1500, 1501).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 500, 501).token(1).extended(1),
			acquire("b", 1490, 1491).granted(2)},
	},
	{
		"an extension may be shorter than what was left",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).ttl(100).extended(1),
			acquire("b", 110, 111).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).ttl(100).extended(1), acquire("b", 90, 91).granted(2)},
	},
	{
		"what has run out is not extended",
		[]line{acquire("a", 0, 1).granted(1), get(1100, 1101).free(1), extend("a", 1102, 1103).gets(expired)},
		[]line{acquire("a", 0, 1).granted(1), get(1100, 1101).free(1), extend("a", 1102, 1103).extended(1)},
	},
	{
		"a lease may last longer than its TTL until an answer says that it has ended",
		[]line{acquire("a", 0, 1).granted(1), get(5000, 5001).held("a", 1), release("a", 5002, 5003).released()},
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 5000, 5001).held("a", 1), get(5002, 5003).free(1),
			get(5004, 5005).held("a", 1)},
	},
	{
		"a late extension does not shorten the lease",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).ttl(5000).extended(1).order(2, 2),
			extend("a", 4, 5).ttl(100).extended(1).order(1, 2), get(2000, 2001).held("a", 1)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).ttl(5000).extended(1).order(2, 2),
			extend("a", 4, 5).ttl(100).extended(1).order(1, 2), get(2000, 2001).free(1)},
	},
	{
		"an extension without a number shortens the lease",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).ttl(5000).extended(1).order(2, 2),
			extend("a", 4, 5).ttl(100).extended(1).order(0, 2), get(2000, 2001).free(1)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).ttl(5000).extended(1).order(2, 2),
			extend("a", 4, 5).ttl(100).extended(1).order(0, 0), get(2000, 2001).free(1)},
	},
	{
		"a repeated request gets the highest number",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).extended(1).order(2, 2),
			acquire("a", 4, 5).id("a-0").granted(1).order(0, 2)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).extended(1).order(2, 2),
			acquire("a", 4, 5).id("a-0").granted(1)},
	},
	{
		"a new lease has no number",
		[]line{acquire("a", 0, 1).granted(1)},
		[]line{acquire("a", 0, 1).granted(1).order(0, 2)},
	},
	{
		"a late set changes nothing",
		[]line{acquire("a", 0, 1).granted(1), set("a", 2, 3).updated().worth("x").order(2, 2),
			late(set("a", 4, 5).updated().worth("y"), "x").order(1, 2)},
		[]line{acquire("a", 0, 1).granted(1), set("a", 2, 3).updated().worth("x").order(2, 2),
			set("a", 4, 5).updated().worth("y").order(1, 2)},
	},
	{
		"the numbers of sets are not those of extensions",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).extended(1).order(9, 9),
			set("a", 4, 5).updated().worth("x").order(1, 1)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).extended(1).order(9, 9),
			set("a", 4, 5).updated().worth("x").order(1, 9)},
	},
	{
		"a release frees",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), get(4, 5).free(1)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), get(4, 5).held("a", 1)},
	},
	{
		"a release by its owner alone",
		[]line{acquire("a", 0, 1).granted(1), release("b", 2, 3).shows(notOwner, "a", 1)},
		[]line{acquire("a", 0, 1).granted(1), release("b", 2, 3).released()},
	},
	{
		"the holder is the owner",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released()},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).shows(notOwner, "a", 1)},
	},
	{
		"a release with its token alone",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).token(7).shows(staleToken, "a", 1)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).token(7).released()},
	},
	{
		"the present token is not stale",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).extended(1)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).shows(staleToken, "a", 1)},
	},
	{
		"a repeated release is answered alike",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).token(1).released(),
			release("a", 4, 5).token(1).released()},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).token(1).released(),
			release("a", 4, 5).token(1).gets(notHeld)},
	},
	{
		"a repeated release is not answered alike when another holds it",
		[]line{
			acquire("a", 0, 1).granted(1), release("a", 2, 3).token(1).released(), acquire("b", 4, 5).granted(2),
			release("a", 6, 7).token(1).shows(notOwner, "b", 2),
		},
		[]line{
			acquire("a", 0, 1).granted(1), release("a", 2, 3).token(1).released(), acquire("b", 4, 5).granted(2),
			release("a", 6, 7).token(1).released(),
		},
	},
	{
		"what was never held is not held",
		[]line{release("a", 0, 1).gets(notHeld), get(2, 3).free(0)},
		[]line{release("a", 0, 1).gets(expired), get(2, 3).free(0)},
	},
	{
		"what was released is not extended",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).extended(1), release("a", 4, 5).released()},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), extend("a", 4, 5).extended(1)},
	},
	{
		"a lease that was released has not run out",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), extend("a", 4, 5).gets(notHeld)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), extend("a", 4, 5).gets(expired)},
	},
	{
		"its last holder receives the answer that it has run out, others do not",
		[]line{acquire("a", 0, 1).granted(1), release("b", 1100, 1101).gets(notHeld),
			release("a", 1102, 1103).gets(expired)},
		[]line{acquire("a", 0, 1).granted(1), release("b", 1100, 1101).gets(expired),
			release("a", 1102, 1103).gets(expired)},
	},
	{
		"an older token of the last holder is of no lease",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 1100, 1101).token(9).gets(notHeld)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 1100, 1101).token(9).gets(expired)},
	},
	{
		"a break takes the lease away",
		[]line{acquire("a", 0, 1).granted(1), breaks(1, 2, 3).released(), release("a", 4, 5).gets(expired),
			breaks(1, 6, 7).released()},
		[]line{acquire("a", 0, 1).granted(1), breaks(1, 2, 3).released(), release("a", 4, 5).released()},
	},
	{
		"a break with the present token alone",
		[]line{acquire("a", 0, 1).granted(1), breaks(2, 2, 3).shows(staleToken, "a", 1)},
		[]line{acquire("a", 0, 1).granted(1), breaks(2, 2, 3).released()},
	},
	{
		"nothing is broken that is free",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), breaks(1, 4, 5).gets(notHeld)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), breaks(1, 4, 5).released()},
	},
	{
		"the same request gets the same grant",
		[]line{acquire("a", 0, 1).id("x").granted(1), acquire("a", 2, 3).id("x").granted(1)},
		[]line{acquire("a", 0, 1).id("x").granted(1), acquire("a", 2, 3).id("x").granted(2)},
	},
	{
		"the same request receives the answer that its lease was released",
		[]line{acquire("a", 0, 1).id("x").granted(1), release("a", 2, 3).released(),
			acquire("a", 4, 5).id("x").shows(messages.Status_RELEASED, "a", 1)},
		[]line{acquire("a", 0, 1).id("x").granted(1), release("a", 2, 3).released(),
			acquire("a", 4, 5).id("x").granted(2)},
	},
	{
		"the same request receives the answer that its lease ran out, when it has",
		[]line{acquire("a", 0, 1).id("x").granted(1), acquire("a", 1004, 1005).id("x").shows(expired, "a", 1),
			get(1006, 1007).free(1)},
		[]line{acquire("a", 0, 1).id("x").granted(1), acquire("a", 500, 501).id("x").shows(expired, "a", 1)},
	},
	{
		"the same request learns how its lease ended",
		[]line{acquire("a", 0, 1).id("x").granted(1), breaks(1, 2, 3).released(),
			acquire("a", 4, 5).id("x").shows(expired, "a", 1)},
		[]line{acquire("a", 0, 1).id("x").granted(1), breaks(1, 2, 3).released(),
			acquire("a", 4, 5).id("x").shows(messages.Status_RELEASED, "a", 1)},
	},
	{
		"the same request learns when another holds it",
		[]line{
			acquire("a", 0, 1).id("x").granted(1), release("a", 2, 3).released(), acquire("b", 4, 5).granted(2),
			acquire("a", 6, 7).id("x").shows(messages.Status_RELEASED, "a", 1), get(8, 9).held("b", 2),
		},
		[]line{
			acquire("a", 0, 1).id("x").granted(1), acquire("a", 2, 3).id("x").shows(messages.Status_RELEASED, "a", 1),
			release("a", 4, 5).released(), acquire("b", 6, 7).granted(2),
		},
	},
	{
		"a request gets no lease that there was not",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released()},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(),
			acquire("a", 4, 5).id("x").shows(messages.Status_RELEASED, "a", 2)},
	},
	{
		"a release of one request leaves the others",
		[]line{acquire("a", 0, 1).id("x").granted(1), release("a", 2, 3).id("y").gets(notHeld),
			release("a", 4, 5).id("x").released()},
		[]line{acquire("a", 0, 1).id("x").granted(1), release("a", 2, 3).id("x").gets(notHeld)},
	},
	{
		"a release of one request ends its lease",
		[]line{acquire("a", 0, 1).id("x").granted(1), release("a", 2, 3).id("x").released(), get(4, 5).free(1)},
		[]line{acquire("a", 0, 1).id("x").granted(1), release("a", 2, 3).id("x").released(), get(4, 5).held("a", 1)},
	},
	{
		"a repetition gets a lease that may have been cut shorter",
		[]line{
			acquire("a", 0, 1).id("x").granted(1), extend("a", 2, 3).ttl(100).extended(1),
			acquire("a", 50, 51).id("x").granted(1), acquire("b", 103, 104).granted(2),
		},
		[]line{
			acquire("a", 0, 1).id("x").granted(1), extend("a", 2, 3).ttl(100).extended(1),
			acquire("a", 50, 51).id("x").granted(1), acquire("b", 60, 61).granted(2),
		},
	},
	{
		"another request of the holder is refused, unless it is reentrant",
		[]line{acquire("a", 0, 1).granted(1), acquire("a", 2, 3).held("a", 1), acquire("a", 4, 5).again().granted(1)},
		[]line{acquire("a", 0, 1).granted(1), acquire("a", 2, 3).granted(1)},
	},
	{
		"a reentrant request of the holder is not refused",
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 3).again().held("a", 1)},
		[]line{acquire("a", 0, 1).granted(1), acquire("a", 2, 3).again().held("a", 1)},
	},
	{
		"a reentrant grant prolongs, and never shortens",
		[]line{acquire("a", 0, 1).granted(1), acquire("a", 500, 501).again().granted(1),
			acquire("b", 1500, 1501).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), acquire("a", 2, 3).again().ttl(100).granted(1),
			acquire("b", 900, 901).granted(2)},
	},
	{
		"who does not wait does not learn that its wait is over",
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 13).wait(10).gets(timeout)},
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 13).gets(timeout)},
	},
	{
		"no request waits for what is free",
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 13).wait(10).gets(timeout),
			release("a", 4, 20).released()},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(),
			acquire("b", 4, 15).wait(10).gets(timeout)},
	},
	{
		"a request that waits is not refused at once",
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 9).wait(10).granted(2), release("a", 4, 5).released()},
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 9).wait(10).held("a", 1)},
	},
	{
		"a request is taken out of the queue only while a lease is held",
		[]line{acquire("a", 0, 1).granted(1), acquire("b", 2, 9).wait(10).id("w").gets(cancelled),
			release("b", 4, 8).id("w").gets(cancelled)},
		[]line{get(0, 1).free(0), acquire("b", 2, 9).wait(10).id("w").gets(cancelled),
			release("b", 4, 8).id("w").gets(cancelled)},
	},
	{
		"a read shows the last token",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), get(4, 5).free(1)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), get(4, 5).free(0)},
	},
	{
		"a read shows the holder",
		[]line{acquire("a", 0, 1).granted(1), get(2, 3).held("a", 1)},
		[]line{acquire("a", 0, 1).granted(1), get(2, 3).held("b", 1)},
	},
	{
		"reads do not go back",
		[]line{acquire("a", 0, 9).granted(1), get(0, 4).free(0), get(5, 9).held("a", 1)},
		[]line{acquire("a", 0, 9).granted(1), get(0, 4).held("a", 1), get(5, 9).free(0)},
	},
	{
		"a grant without an answer explains a token that no answer had",
		[]line{acquire("a", 0, 0).unknown(), get(5, 6).held("a", 1)},
		[]line{acquire("a", 7, 0).unknown(), get(5, 6).held("a", 1)},
	},
	{
		"a release without an answer may have happened, or not",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 0).unknown(), acquire("b", 50, 51).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), release("b", 2, 0).unknown(), acquire("b", 50, 51).granted(2)},
	},
	{
		"an extension without an answer may have happened, or not",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 0).ttl(100).unknown(), acquire("b", 110, 111).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 0).ttl(100).unknown(), acquire("b", 90, 91).granted(2)},
	},
	{
		"a break without an answer may have happened, or not",
		[]line{acquire("a", 0, 1).granted(1), breaks(1, 2, 0).unknown(), acquire("b", 50, 51).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), breaks(2, 2, 0).unknown(), acquire("b", 50, 51).granted(2)},
	},
	{
		"an answer is to one sending; an earlier one may have had its effect too",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 60).token(1).resent(50).shows(notOwner, "b", 2),
			acquire("b", 10, 20).granted(2)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 60).token(1).resent(50).shows(notOwner, "b", 2),
			acquire("b", 10, 20).granted(2)},
	},
	{
		"what could not be served has not happened",
		[]line{acquire("a", 0, 1).gets(messages.Status_UNAVAILABLE), get(2, 3).free(0)},
		[]line{acquire("a", 0, 1).gets(messages.Status_UNAVAILABLE), get(2, 3).held("a", 1)},
	},
	{
		"each holder extends its own lease",
		[]line{
			acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), acquire("b", 4, 5).granted(2),
			extend("b", 6, 7).ttl(200).extended(2), get(8, 9).held("b", 2),
		},
		[]line{
			acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), acquire("b", 4, 5).granted(2),
			extend("a", 6, 7).ttl(200).extended(2), get(8, 9).held("b", 2),
		},
	},
	{
		"ephemeral tokens may be left out, and never come back",
		[]line{acquire("a", 0, 1).ephemeral().granted(1), release("a", 2, 3).released(),
			acquire("b", 4, 5).ephemeral().granted(1001)},
		[]line{acquire("a", 0, 1).ephemeral().granted(9), release("a", 2, 3).released(),
			acquire("b", 4, 5).ephemeral().granted(8)},
	},
	{
		"an ephemeral lease has one holder while its shard has one owner",
		[]line{acquire("a", 0, 1).ephemeral().granted(1), acquire("b", 2, 3).ephemeral().held("a", 1)},
		[]line{acquire("a", 0, 1).ephemeral().granted(1), acquire("b", 2, 3).ephemeral().granted(2)},
	},
}

func TestHistories(t *testing.T) {
	t.Parallel()
	for _, p := range pairs {
		t.Run(p.rule, func(t *testing.T) {
			t.Parallel()
			checks, err := tellApart(t, p.legal, p.illegal)
			if checks[len(checks)-1] != "model" {
				t.Errorf("the model does not see it: %v", err)
			}
		})
	}
}

// tellApart checks that the first history is legal and the second one not. It returns the checks that the second one
// breaks, and the error that says so.
func tellApart(t *testing.T, legal, illegal []line) (checks []string, err error) {
	t.Helper()
	if _, err := linear.Check(t.Context(), history(legal), nil, nil, linear.Terms{}); err != nil {
		t.Errorf("legal: %v", err)
	}
	report, err := linear.Check(t.Context(), history(illegal), nil, nil, linear.Terms{})
	if !errors.Is(err, linear.ErrViolated) {
		t.Fatalf("illegal: %v", err)
	}
	for _, v := range report.Violations {
		checks = append(checks, v.Check)
	}
	return checks, err
}
