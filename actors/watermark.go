package actors

import (
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/actors/publish"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// watermark is how far a tenure has published, and how far the journal says so. Every commit records
// it; a commit without changes does so when none has come for a while, and at the end. Whoever opens
// the shard next then has little to publish again.
type watermark struct {
	events *publish.Publisher // nil if none are published
	// seen is the last commit when the timer was set; timer stops it, nil if there is none.
	seen  uint64
	timer func() bool
	// due: the next commit need not have changes.
	due bool
	// finishing: no more is given to events; silent: they have ended.
	finishing, silent bool
	// bound stops the timer that makes it silent, nil if there is none.
	bound func() bool
}

// record tells a tenure to look whether the watermark should be written down.
type record struct{ tenure *tenure }

// silent tells a tenure that nothing will be published any more.
type silent struct{ tenure *tenure }

// publish begins to publish what is owed and what will be committed.
func (t *tenure) publish() {
	if t.shard.cfg.Publisher == nil {
		return
	}
	position, number := t.ledger.Owed()
	t.events = publish.New(publish.Config{
		Shard: t.shard.cfg.Shard, Source: t.shard.cfg.Journal, Sink: t.shard.cfg.Publisher,
		AfterFunc: t.shard.cfg.Clock.AfterFunc, Log: t.shard.cfg.Log, Backlog: t.shard.cfg.Tuning.Backlog,
		Counts: &t.shard.eventCounts,
	}, position, number, t.ledger.Head().Number)
	predecessor := t.shard.events.Swap(t.events)
	t.shard.work.Go(func() {
		t.events.Run(t.ctx, predecessor)
		t.tell(silent{t})
	})
	t.recordLater()
}

// announce hands a commit that is now in the ledger on to be published.
func (t *tenure) announce(c *journal.Commit, bytes int) {
	if t.events == nil || t.finishing {
		return
	}
	t.events.Offer(publish.Commit{Position: t.ledger.Head().Position, Commit: c, Bytes: bytes})
	t.recordLater()
}

// published is what a commit of that number records.
func (t *tenure) published(number uint64) uint64 {
	if t.events == nil {
		return number
	}
	return t.events.Through()
}

// mayGo reports whether the journal up to a mark is not needed to publish it, or has grown so much
// behind it that it has to go all the same.
func (t *tenure) mayGo(m ledger.Mark) bool {
	return t.events == nil || m.Number <= t.events.Through() || t.ledger.Head().Bytes-m.Bytes > t.shard.cfg.Tuning.Backlog
}

// unrecorded reports whether the journal should say that more has been published than it does.
func (t *tenure) unrecorded() bool {
	head := t.ledger.Head()
	return head.Published < min(head.Changed, t.events.Through())
}

func (t *tenure) recordLater() {
	head := t.ledger.Head()
	if t.timer != nil || head.Published >= head.Changed {
		return
	}
	t.seen = head.Number
	t.timer = t.shard.cfg.Clock.AfterFunc(t.shard.cfg.Tuning.RecordAfter, func() { t.tell(record{t}) })
}

// recordIfQuiet writes the watermark down if no commit has done so for a while.
func (t *tenure) recordIfQuiet() {
	t.timer = nil
	if t.seen == t.ledger.Head().Number && t.unrecorded() {
		t.record()
	}
	t.recordLater()
}

func (t *tenure) record() {
	t.due = true
	t.appendNext()
}

// windDown publishes the rest and records that, when nothing else is on its way any more. It reports
// whether there is nothing left to do. With a successor waiting it is brief: what takes longer, and
// the record, it leaves to that one, who publishes a little twice.
func (t *tenure) windDown(brief bool) bool {
	switch {
	case t.events == nil:
		return true
	case !t.finishing:
		t.finishing = true
		t.events.Finish()
		if brief {
			t.bound = t.shard.cfg.Clock.AfterFunc(publishAtMost, func() { t.tell(hurry{t}) })
		}
	case !t.silent:
	case !brief && t.unrecorded():
		t.record()
	default:
		return true
	}
	return false
}
