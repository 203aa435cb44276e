package linear_test

import (
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// theResource is what all scripts are about.
const theResource = "scripted"

// line is an operation of a script. Times are in milliseconds; a lease is of 1000 unless it says
// otherwise.
type line struct{ linear.Operation }

func ask(kind messages.Operation, owner string, call, back int) line {
	return line{linear.Operation{
		Resource: theResource, Kind: kind, Owner: owner,
		Call: at(call), Last: at(call), Return: at(back),
	}}
}

func at(milliseconds int) time.Duration { return time.Duration(milliseconds) * time.Millisecond }

func acquire(owner string, call, back int) line {
	l := ask(messages.OpAcquire, owner, call, back)
	l.RequestID, l.TTL = fmt.Sprintf("%s-%d", owner, call), 1000
	return l
}

func release(owner string, call, back int) line { return ask(messages.OpRelease, owner, call, back) }

func extend(owner string, call, back int) line {
	l := ask(messages.OpExtend, owner, call, back)
	l.TTL = 1000
	return l
}

func set(owner string, call, back int) line { return ask(messages.OpSet, owner, call, back) }

func breaks(token uint64, call, back int) line {
	l := ask(messages.OpBreak, "", call, back).token(token)
	l.Reason = fmt.Sprint(call)
	return l
}

func get(call, back int) line { return ask(messages.OpGet, "", call, back) }

func (l line) token(n uint64) line { l.Token = n; return l }

// order is the number of an extend or a set, and the highest one in its answer.
func (l line) order(n, highest uint64) line { l.Order, l.Highest = n, highest; return l }

func (l line) ttl(n uint32) line { l.TTL = n; return l }

func (l line) wait(n uint32) line { l.Wait = n; return l }

func (l line) id(id string) line { l.RequestID = id; return l }

func (l line) again() line { l.Reentrant = true; return l }

func (l line) ephemeral() line { l.Ephemeral = true; return l }

// delayed and confirming say how the resource is held back if the lease is lost: for a second, or until that is
// confirmed.
func (l line) delayed() line { l.Delay = 1000; return l }

func (l line) confirming() line { l.Confirm = true; return l }

func confirms(token uint64, call, back int) line {
	l := ask(messages.OpConfirm, "", call, back).token(token)
	l.Reason = fmt.Sprint(call)
	return l
}

// heldBack is the answer that token 1 of a is lost.
func (l line) heldBack() line { return l.shows(messages.Status_HELD_BACK, "a", 1) }

// endless says that the resource is held back until the loss is confirmed.
func (l line) endless() line { l.Endless = true; return l }

// unknown says that no answer came.
func (l line) unknown() line {
	l.Return, l.Open = linear.Never, 1
	return l
}

// copies says how often it was sent without an answer.
func (l line) copies(n int) line { l.Open = n; return l }

// resent says that the first sending was not answered, and the one of then was.
func (l line) resent(last int) line {
	l.Last, l.Open = at(last), 1
	return l
}

// worth says with which value the operation wants the lease, and with which one its answer shows it.
func (l line) worth(value string) line {
	if l.Kind == messages.OpAcquire || l.Kind == messages.OpSet {
		l.Value = value
	}
	l.Shown.Value = value
	return l
}

// late is a set whose answer shows another value than it wants.
func late(l line, shown string) line { l.Shown.Value = shown; return l }

// theSession is the session of a, in which it has token 1.
const theSession = "session-of-a-0000"

// in says that an acquire is in the session, which ends no earlier than after a second, and that its answer shows that.
func (l line) in() line {
	l = l.shown()
	l.Session, l.Until = theSession, at(1000)
	return l
}

// shown says that the lease in the answer is in the session.
func (l line) shown() line {
	l.Shown.Session = messages.SessionLabel(messages.SessionHash(theSession))
	return l
}

func keep(call, back int) line {
	l := ask(messages.OpKeep, "a", call, back).token(1).ttl(1000)
	l.Session = theSession
	return l
}

func end(call, back int) line {
	l := ask(messages.OpEnd, "a", call, back).token(1)
	l.Session = theSession
	return l
}

// stranger says that the request is in the name of another owner, without the secret.
func (l line) stranger() line { l.Owner += " without its secret"; return l }

// former says that the answer is one for all shards.
func (l line) former() line { l.Former = true; return l }

func (l line) orphan() line { l.Orphan, l.TTL = true, 1000; return l }

func (l line) gets(s messages.Status) line { l.Status = s; return l }

func (l line) shows(s messages.Status, owner string, token uint64) line {
	l.Status, l.Shown = s, linear.Shown{Owner: owner, Token: token}
	return l
}

func (l line) granted(token uint64) line { return l.shows(messages.Status_GRANTED, l.Owner, token) }

func (l line) extended(token uint64) line { return l.shows(messages.Status_EXTENDED, l.Owner, token) }

func (l line) updated() line { return l.shows(messages.Status_UPDATED, l.Owner, 1) }

func (l line) released() line { return l.gets(messages.Status_RELEASED) }

func (l line) held(owner string, token uint64) line {
	return l.shows(messages.Status_HELD, owner, token)
}

func (l line) free(token uint64) line { return l.shows(messages.Status_FREE, "", token) }

func history(script []line) *linear.History {
	h := linear.NewHistory()
	for _, l := range script {
		h.Add(l.Operation)
	}
	return h
}

// book writes a journal of one shard, a commit for each change.
type book struct {
	linear.Journal
	epoch uint64
}

func openBook() *book {
	b := new(book)
	b.opened()
	return b
}

func (b *book) opened() *book {
	b.epoch++
	b.put(&journal.Commit{Opened: true})
	return b
}

// openedAt is an owner that opens the shard at a time by the wall clock.
func (b *book) openedAt(at time.Time) *book {
	b.epoch++
	return b.put(&journal.Commit{Opened: true, AtMs: at.UnixMilli()})
}

// put adds a commit behind the others, with all that the caller leaves out.
func (b *book) put(c *journal.Commit) *book {
	n := uint64(b.Len()) + 1
	if c.GetNumber() == 0 {
		c.Number = n
	}
	if c.GetAtMs() == 0 {
		c.AtMs = int64(n) * 100_000 // long enough behind the one before for any lease to run out
	}
	if c.GetEpoch() == 0 {
		c.Epoch = b.epoch
	}
	if c.GetWriter() == nil {
		c.Writer = &journal.Writer{Node: "n1", Incarnation: c.GetEpoch()}
	}
	b.Add(messages.Shard{}, n, &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: c}})
	return b
}

func (b *book) change(kind messages.Event_Kind, owner string, token uint64, ttl uint32, id, reason string) *book {
	return b.put(&journal.Commit{Changes: []*journal.Change{{Kind: kind, Reason: reason, Grant: &journal.Grant{
		Resource: theResource, Owner: owner, Token: token, TtlMs: ttl, RequestId: id,
	}}}})
}

// changes is change, n times.
func (b *book) changes(n int, kind messages.Event_Kind, owner string, token uint64, ttl uint32, id string) *book {
	for range n {
		b.change(kind, owner, token, ttl, id, "")
	}
	return b
}

// withdrawn is a request that waits for another's lease and is taken out of the queue, and what comes behind that.
func withdrawn(lines ...line) []line {
	return append([]line{
		acquire("z", 0, 1).granted(1),
		acquire("a", 1, 10).wait(1000).gets(cancelled), release("a", 2, 3).id("a-1").gets(cancelled),
		release("z", 11, 12).released(),
	}, lines...)
}

func heldMeanwhile() *book {
	return openBook().acquired("z", 1, "z-0").ended(messages.Event_RELEASED, "z", 1, "z-0")
}

// besides are the lines, and a grant to another owner between two of one request.
func besides(lines ...line) []line {
	return append(lines, acquire("b", 1010, 1011).granted(2), release("b", 1020, 1021).released())
}

func grantedBetween() *book {
	return openBook().acquired("a", 1, "a-0").ended(messages.Event_EXPIRED, "a", 1, "a-0").
		acquired("b", 2, "b-1010").ended(messages.Event_RELEASED, "b", 2, "b-1010")
}

// grantedAgainByAnotherOwner is what an owner may do that knows the last grant only.
func grantedAgainByAnotherOwner() *book {
	return grantedBetween().opened().acquired("a", 3, "a-0")
}

func (b *book) acquired(owner string, token uint64, id string) *book {
	return b.change(messages.Event_ACQUIRED, owner, token, 1000, id, "")
}

func (b *book) ended(kind messages.Event_Kind, owner string, token uint64, id string) *book {
	return b.change(kind, owner, token, 1000, id, "")
}

// downgraded is the lease of the request a-0 of a that goes on under another token, with this limit and TTL.
func (b *book) downgraded(from, to uint64, limit, before, after uint32) *book {
	old := &journal.Grant{Resource: theResource, Owner: "a", Token: from, TtlMs: before, RequestId: "a-0"}
	if from > 1 {
		old.Limit, old.Slots, old.Phase, old.Former = 3, []uint32{0}, from, from-1
	}
	return b.put(&journal.Commit{Changes: []*journal.Change{
		{Kind: messages.Event_RELEASED, Reason: "downgraded", Grant: old},
		{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
			Resource: theResource, Owner: "a", Token: to, TtlMs: after, RequestId: "a-0",
			Limit: limit, Slots: []uint32{0}, Phase: to, Former: from,
		}},
	}})
}
