package publish

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// batchEvents bounds a batch: as many events as fit into one batch of JetStream.
	batchEvents = 1000
	// minRest and maxRest bound the delay between two attempts to publish or to read.
	minRest = 10 * time.Millisecond
	maxRest = time.Second
)

// Publisher publishes what one term of a shard has committed, on a goroutine of its own, so that no lock
// waits for its watchers. The journal is its queue; the commits that it has in memory only spare it the
// reading.
type Publisher struct {
	cfg     Config
	backlog backlog
	// through is the number of the last commit of which all events have been published, latest that of
	// the last commit that there is.
	through, latest atomic.Uint64
	// finishing is closed when no more commits will come, done when the goroutine has ended.
	finishing, done chan struct{}

	// position and number are those of the last commit that was taken; batch has the events that have
	// yet to be published.
	position, number uint64
	batch            []*messages.Event
	// failing: the last attempt failed, and was logged.
	failing bool
}

// New returns a publisher that goes on behind the commit of this position and number. latest is the number
// of the last commit of the journal.
func New(cfg Config, position, number, latest uint64) *Publisher {
	p := &Publisher{
		cfg: cfg, backlog: newBacklog(), finishing: make(chan struct{}), done: make(chan struct{}),
		position: position, number: number,
	}
	p.through.Store(number)
	p.latest.Store(latest)
	p.backlog.missed.Store(number < latest)
	return p
}

// Through returns the watermark: the number of the last commit of which all events have been published. It
// is safe for concurrent use.
func (p *Publisher) Through() uint64 { return p.through.Load() }

// Behind returns how many commits have yet to be published. It is safe for concurrent use.
func (p *Publisher) Behind() uint64 {
	through := p.through.Load() // first: latest is never below it
	return p.latest.Load() - through
}

// Offer takes the next commit in. It does not block; one goroutine at a time may call it.
func (p *Publisher) Offer(c Commit) {
	p.latest.Store(c.Commit.GetNumber())
	p.backlog.offer(c)
}

// Finish lets Run end as soon as everything that was offered is published, or an attempt fails. No commit
// may be offered after it.
func (p *Publisher) Finish() {
	close(p.finishing)
	p.backlog.close()
}

// Run publishes until ctx ends, or until everything is published after Finish. It begins when its
// predecessor, which may be nil, has ended: a shard has one publisher at a time.
func (p *Publisher) Run(ctx context.Context, predecessor *Publisher) {
	if !predecessor.wait(ctx) {
		go func() { // the next publisher has to wait for this predecessor too
			<-predecessor.done
			close(p.done)
		}()
		return
	}
	defer close(p.done)
	for more := true; more || p.backlog.missed.Load(); {
		var err error
		if p.backlog.missed.Swap(false) {
			err = p.catchUp(ctx)
		} else if more = p.backlog.receive(ctx, p.take); more {
			err = p.send(ctx)
		}
		if err != nil && !p.rest(ctx, maxRest) {
			return
		}
	}
}

// wait waits until the goroutine has ended, and reports whether it did before ctx ended.
func (p *Publisher) wait(ctx context.Context) bool {
	if p == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// take takes a commit out of the backlog, unless it was read already or follows commits that must be read
// before it. It reports whether the batch has room for more.
func (p *Publisher) take(c Commit) (room bool) {
	switch number := c.Commit.GetNumber(); {
	case number == p.number+1:
		p.add(c.Position, c.Commit)
	case number > p.number:
		p.backlog.missed.Store(true)
	}
	return len(p.batch) < batchEvents
}

func (p *Publisher) add(position uint64, c *journal.Commit) {
	p.position, p.number = position, c.GetNumber()
	p.batch = journal.AppendEvents(p.batch, p.cfg.Shard, position, c, p.wants)
}

// wants reports whether an event of a resource is to be published; else it counts as published.
func (p *Publisher) wants(resource string) bool {
	if p.cfg.Sink.Wants(resource) {
		return true
	}
	p.cfg.Counts.published.Add(1)
	return false
}

// catchUp publishes what the journal has behind the last commit that was taken.
func (p *Publisher) catchUp(ctx context.Context) error {
	latest := p.latest.Load()
	_, err := p.cfg.Source.Replay(ctx, p.position, func(position uint64, r *journal.Record) error {
		c := r.GetCommit()
		if c == nil || c.GetNumber() <= p.number {
			return nil
		}
		if c.GetNumber() > p.number+1 {
			p.skip(c.GetNumber())
		}
		p.add(position, c)
		if len(p.batch) < batchEvents {
			return nil
		}
		return p.send(ctx)
	})
	if err == nil {
		err = p.send(ctx)
	}
	if err == nil && p.number < latest {
		err = fmt.Errorf("the journal shows commit %d, though there is commit %d", p.number, latest)
	}
	if err != nil {
		p.backlog.missed.Store(true)
		p.logFailure(ctx, err)
	}
	return err
}

// skip counts and logs commits that were purged before their events could be published.
func (p *Publisher) skip(next uint64) {
	p.cfg.Counts.lost.Add(next - p.number - 1)
	p.cfg.Log.Error(
		"events lost: their commits were purged, because the backlog of unpublished commits exceeded its bound",
		"first_commit", p.number+1, "last_commit", next-1, "bound", p.cfg.Backlog)
}

// send publishes the batch. It tries again until it succeeds, ctx ends, or an attempt fails after Finish.
func (p *Publisher) send(ctx context.Context) error {
	for wait := minRest; len(p.batch) > 0; {
		n := min(len(p.batch), batchEvents)
		err := p.cfg.Sink.Publish(ctx, p.batch[:n])
		if err == nil {
			p.cfg.Counts.published.Add(uint64(n))
			p.batch, wait = p.batch[n:], minRest
			continue
		}
		p.logFailure(ctx, err)
		if !p.rest(ctx, wait) {
			return err
		}
		wait = min(2*wait, maxRest)
	}
	p.batch = nil
	p.through.Store(p.number)
	if p.failing {
		p.failing = false
		p.cfg.Log.Info("events are published again", "through_commit", p.number)
	}
	return nil
}

// logFailure logs the first of consecutive failures.
func (p *Publisher) logFailure(ctx context.Context, err error) {
	if p.failing || ctx.Err() != nil {
		return
	}
	p.failing = true
	p.cfg.Log.Warn("cannot publish events; they stay in the journal and are tried again",
		"from_commit", p.through.Load()+1, "error", err)
}

// rest waits between two attempts, and reports whether there is to be another one.
func (p *Publisher) rest(ctx context.Context, d time.Duration) bool {
	over := make(chan struct{})
	stop := p.cfg.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return true
	case <-p.finishing:
		return false
	case <-ctx.Done():
		return false
	}
}
