package reshard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Writer is the name of the writer of the first commit of each new journal.
const Writer = "holdfast-reshard"

const (
	// leap is how far positions and numbers of a generation begin above those of the one before, which grow while it is
	// copied. Two million generations fit below 2^53, the largest integer that all readers of JSON have. epochLeap is the
	// same for epochs, which grow with each opening only, and of which 32 bits go into the losses of sessions.
	leap, epochLeap = 1 << 32, 1 << 12
	// writers is how many journals are written at the same time.
	writers = 16
	// caughtUp is how long a pass over all journals may take that leaves little to the one behind their end, and maxPasses
	// how many there are at most.
	caughtUp  = 100 * time.Millisecond
	maxPasses = 5
	// closePoll is the pause between two looks for the end of a journal.
	closePoll = 10 * time.Millisecond
)

// all keeps everything that a ledger remembers.
var all = ledger.Retention{Before: math.MinInt64, Limit: 1 << 40, InUse: func(string) bool { return true }}

// source is a journal of the present generation, and what was read of it.
type source struct {
	bucket backup.Source
	ledger *ledger.Ledger
}

// target is a journal of the next generation, and what it is to have.
type target struct {
	bucket backup.Target
	ledger *ledger.Ledger
}

// journals are those of both generations.
type journals struct {
	sources []*source
	targets []*target
	next    messages.Shards
	// created has the buckets of the targets.
	created *jetstream.Deployment
	// after is the position behind which the targets begin, and number and epoch are those of their first commits.
	after, number, epoch uint64
}

// read reads the sources to their present ends.
func (j *journals) read(ctx context.Context, d *jetstream.Deployment, progress func(float64)) error {
	for shard := range d.Shards() {
		b := d.Bucket(shard)
		l, err := backup.Read(ctx, b, func(done float64) { progress((float64(shard) + done) / float64(d.Shards())) })
		if err != nil {
			return fmt.Errorf("shard %d: %w", shard, err)
		}
		j.sources = append(j.sources, &source{b, l})
	}
	return nil
}

// fill writes what was read into the targets.
func (j *journals) fill(ctx context.Context) error {
	for _, s := range j.sources {
		head := s.ledger.Head()
		j.number, j.epoch = max(j.number, head.Number+leap), max(j.epoch, head.Epoch+epochLeap)
	}
	for shard := range j.next.Count {
		t := &target{j.created.Bucket(shard), ledger.New()}
		first := backup.First(Writer, j.epoch, j.number, time.Now().UnixMilli())
		if err := t.ledger.Read(j.after+1, first, nil); err != nil {
			return err
		}
		if err := t.bucket.Append(ctx, j.after, first); err != nil {
			return err
		}
		j.targets = append(j.targets, t)
	}
	for _, s := range j.sources {
		for page := range s.ledger.Pages() {
			for _, e := range page.GetPage().GetEntries() {
				if err := j.put(e.Name(), e); err != nil {
					return err
				}
			}
		}
	}
	return j.write(ctx)
}

// put puts a resource into its target; nil: it is not remembered.
func (j *journals) put(resource string, e *journal.Entry) error {
	key, err := messages.KeyOf(resource)
	if err == nil {
		j.targets[messages.ShardOf(key, j.next.Count)].ledger.Replace(resource, e)
	}
	return err
}

// write writes the pages of the targets that have changed. A free resource that is not remembered may have been in any
// source.
func (j *journals) write(ctx context.Context) error {
	var floor messages.Token
	for _, s := range j.sources {
		floor = max(floor, s.ledger.Floor())
	}
	places, failures := make(chan struct{}, writers), make([]error, len(j.targets))
	var writing sync.WaitGroup
	for i, t := range j.targets {
		t.ledger.RaiseFloor(floor) // mutant: ReshardForgetsTheLowWaterMark
		places <- struct{}{}
		writing.Go(func() {
			defer func() { <-places }()
			failures[i] = t.write(ctx)
		})
	}
	writing.Wait()
	return errors.Join(failures...)
}

func (t *target) write(ctx context.Context) error {
	pages := t.ledger.Checkpoint()
	for page := pages.Next(all); page != nil; page = pages.Next(all) {
		if err := t.bucket.Append(ctx, t.ledger.Head().Position, page); err != nil {
			return err
		}
		if pages.Stored() {
			break
		}
	}
	return nil
}

// follow reads what the sources have by now, and takes it over.
func (j *journals) follow(ctx context.Context) error {
	for shard, s := range j.sources {
		changed := make(map[string]bool)
		last, err := s.bucket.Replay(ctx, s.ledger.Head().Position, func(position uint64, r *journal.Record) error {
			for _, c := range r.GetCommit().GetChanges() {
				changed[c.Name()] = true
			}
			return s.ledger.Read(position, r, func(int) lease.Instant { return 0 })
		})
		if err != nil {
			return fmt.Errorf("shard %d: %w", shard, err)
		}
		s.ledger.ReadTo(last)
		for resource := range changed {
			if err := j.put(resource, s.ledger.Entry(resource)); err != nil {
				return err
			}
		}
	}
	return nil
}

// catchUp follows the sources until little is left.
func (j *journals) catchUp(ctx context.Context) error {
	for range maxPasses {
		began := time.Now()
		if err := errors.Join(j.follow(ctx), j.write(ctx)); err != nil {
			return err
		}
		if time.Since(began) < caughtUp {
			break
		}
	}
	return nil
}

// finish follows the sources to their ends, and checks that the targets begin above them.
func (j *journals) finish(ctx context.Context) error {
	for {
		if err := j.follow(ctx); err != nil {
			return err
		}
		if j.areClosed() { // mutant: ReshardCopiesOpenJournals
			break
		}
		if err := pause(ctx, closePoll); err != nil {
			return err
		}
	}
	for shard, s := range j.sources {
		head := s.ledger.Head()
		switch {
		case head.Published < head.Changed:
			return fmt.Errorf("shard %d: not all of its events are published", shard)
		case head.Position >= j.after || head.Number >= j.number || head.Epoch >= j.epoch: // mutant: ReshardRepeatsPositions
			return fmt.Errorf("shard %d has grown beyond the beginning of the new journals", shard)
		}
	}
	return j.write(ctx)
}

// areClosed reports whether each source ends with the commit that closes it for the next generation.
func (j *journals) areClosed() bool {
	for _, s := range j.sources {
		if s.ledger.Closed().GetGeneration() != j.next.Generation {
			return false
		}
	}
	return true
}
