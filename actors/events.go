package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// eventsAtOnce is how many events are published before anybody waits for their arrival: as many
	// as fit into one batch of JetStream.
	eventsAtOnce = 1000
	// queuedCommits and queuedBytes bound what waits in memory to be published. What has no place
	// there is read from the journal.
	queuedCommits = 1024
	queuedBytes   = 8 << 20
	// shortestRest and longestRest lie between two tries to publish or to read.
	shortestRest = 10 * time.Millisecond
	longestRest  = time.Second
)

// events publishes what a tenure has committed, on a goroutine of its own, so that no lock waits for
// those who watch. The journal is its queue; what it has in memory only spares it the reading.
type events struct {
	shard *Shard
	queue chan committed
	bytes atomic.Int64 // in queue
	// missed: the journal has a commit that the queue has not.
	missed atomic.Bool
	// through is the number of the last commit of which all events have been published.
	through atomic.Uint64
	// latest is the number of the last commit that there is.
	latest atomic.Uint64
	// closing is closed when no more commits will come, done when the goroutine has ended.
	closing, done chan struct{}

	// position and number are those of the last commit that was taken; batch is what of it and those
	// before it has yet to be published.
	position, number uint64
	batch            []*messages.Event
	troubled         bool
}

// committed is a commit where it stands.
type committed struct {
	position uint64
	commit   *journal.Commit
	bytes    int
}

// newEvents returns the publishing of what stands behind the ledger's watermark.
func newEvents(s *Shard, l ledger.Head, behind func(number uint64) uint64) *events {
	e := &events{
		shard: s, queue: make(chan committed, queuedCommits),
		closing: make(chan struct{}), done: make(chan struct{}),
		position: l.Position, number: l.Number,
	}
	if l.Published < l.Changed {
		e.position, e.number = behind(l.Published), l.Published
	}
	e.through.Store(e.number)
	e.latest.Store(l.Number)
	e.missed.Store(e.number < l.Number)
	return e
}

// offer takes in a commit. It belongs to the shard's goroutine and does not block.
func (e *events) offer(c committed) {
	e.latest.Store(c.commit.GetNumber())
	if e.bytes.Add(int64(c.bytes)) <= queuedBytes {
		select {
		case e.queue <- c:
			return
		default:
		}
	}
	e.bytes.Add(-int64(c.bytes))
	e.missed.Store(true)
}

// finish lets the goroutine end when it has published what there is, or cannot.
func (e *events) finish() {
	close(e.closing)
	close(e.queue)
}

// run publishes until ctx ends, or until all is done behind finish. It begins when its predecessor,
// which may be nil, has ended: one shard has one publisher at a time.
func (e *events) run(ctx context.Context, predecessor *events) {
	if !predecessor.awaited(ctx) {
		go func() { // what it still publishes, the next one has to wait for
			<-predecessor.done
			close(e.done)
		}()
		return
	}
	defer close(e.done)
	for more := true; more || e.missed.Load(); {
		var err error
		if e.missed.Swap(false) {
			err = e.readOn(ctx)
		} else if more = e.receive(ctx); more {
			err = e.send(ctx)
		}
		if err != nil && !e.rest(ctx, longestRest) {
			return
		}
	}
}

// awaited waits until the goroutine has ended, and reports whether it has before ctx ends.
func (e *events) awaited(ctx context.Context) bool {
	if e == nil {
		return true
	}
	select {
	case <-e.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// receive waits for a commit and takes those that have come together with it. It reports whether
// more can come.
func (e *events) receive(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false // also if there is something to take
	}
	select {
	case c, more := <-e.queue:
		if !more {
			return false
		}
		e.take(c)
	case <-ctx.Done():
		return false
	}
	for len(e.batch) < eventsAtOnce {
		select {
		case c, more := <-e.queue:
			if !more {
				return true // and the next call says that it was the last
			}
			e.take(c)
		default:
			return true
		}
	}
	return true
}

// take takes a commit out of the queue, unless it was read already or has to wait for others that
// must be read before it.
func (e *events) take(c committed) {
	e.bytes.Add(-int64(c.bytes))
	switch number := c.commit.GetNumber(); {
	case number == e.number+1:
		e.add(c.position, c.commit)
	case number > e.number:
		e.missed.Store(true)
	}
}

func (e *events) add(position uint64, c *journal.Commit) {
	e.position, e.number = position, c.GetNumber()
	e.batch = append(e.batch, journal.Events(e.shard.cfg.Shard, position, c)...)
}

// readOn publishes what the journal has behind the last commit that was taken.
func (e *events) readOn(ctx context.Context) error {
	wanted := e.latest.Load()
	_, err := e.shard.cfg.Journal.Replay(ctx, e.position, func(position uint64, r *journal.Record) error {
		c := r.GetCommit()
		if c == nil || c.GetNumber() <= e.number {
			return nil
		}
		if c.GetNumber() > e.number+1 {
			e.lose(c.GetNumber())
		}
		e.add(position, c)
		if len(e.batch) < eventsAtOnce {
			return nil
		}
		return e.send(ctx)
	})
	if err == nil {
		err = e.send(ctx)
	}
	if err == nil && e.number < wanted {
		err = fmt.Errorf("the journal shows commit %d, though there is commit %d", e.number, wanted)
	}
	if err != nil {
		e.missed.Store(true)
		e.complain(ctx, err)
	}
	return err
}

// lose tells of commits that were purged before anything could be published of them.
func (e *events) lose(next uint64) {
	lost := next - e.number - 1
	e.shard.lost.Add(lost)
	e.shard.cfg.Log.Error("events are lost: nothing could be published for so long that their commits had to be purged",
		"first_commit", e.number+1, "last_commit", next-1, "bound", e.shard.cfg.Tuning.Backlog)
}

// send publishes the batch, and tries until it has done so, ctx ends, or it fails after finish.
func (e *events) send(ctx context.Context) error {
	for wait := shortestRest; len(e.batch) > 0; {
		n := min(len(e.batch), eventsAtOnce)
		err := e.shard.cfg.Publisher.Publish(ctx, e.batch[:n])
		if err == nil {
			e.shard.published.Add(uint64(n))
			e.batch, wait = e.batch[n:], shortestRest
			continue
		}
		e.complain(ctx, err)
		if !e.rest(ctx, wait) {
			return err
		}
		wait = min(2*wait, longestRest)
	}
	e.batch = nil
	e.through.Store(e.number)
	if e.troubled {
		e.troubled = false
		e.shard.cfg.Log.Info("events are published again", "through_commit", e.number)
	}
	return nil
}

// complain logs the first of the errors that follow one another.
func (e *events) complain(ctx context.Context, err error) {
	if e.troubled || ctx.Err() != nil {
		return
	}
	e.troubled = true
	e.shard.cfg.Log.Warn("events cannot be published; they stay in the journal, and it tries again",
		"from_commit", e.through.Load()+1, "error", err)
}

// rest waits between two tries, and reports whether there is to be another one.
func (e *events) rest(ctx context.Context, d time.Duration) bool {
	over := make(chan struct{})
	stop := e.shard.cfg.Clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return true
	case <-e.closing:
		return false
	case <-ctx.Done():
		return false
	}
}
