package soak

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// books reads the journals while the node compacts them, audits them, and keeps what is new.
type books struct {
	mu         sync.Mutex
	deployment *jetstream.Deployment
	shards     []*audit.Shard
	recent     *linear.Journal
	err        error
}

func openBooks(d *jetstream.Deployment) *books {
	b := &books{deployment: d, recent: linear.NewPartialJournal()}
	for shard := range d.Shards() {
		b.shards = append(b.shards, audit.NewPartial(shard))
	}
	return b
}

// watch reads until ctx ends.
func (b *books) watch(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		b.mu.Lock()
		b.read(ctx)
		b.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// read reads what is new, under the mutex.
func (b *books) read(ctx context.Context) {
	for shard, s := range b.shards {
		_, err := b.deployment.Bucket(uint32(shard)).Replay(ctx, s.Position(),
			func(position uint64, r *journal.Record) error {
				for _, v := range s.Read(position, r) {
					b.err = errors.Join(b.err, errors.New(v.String()))
				}
				b.recent.Add(messages.Shard{Number: uint32(shard)}, position, r)
				return nil
			})
		if err != nil && ctx.Err() == nil {
			b.err = errors.Join(b.err, err)
		}
	}
}

// without runs f while nothing is read, and goes on with the deployment that f returns.
func (b *books) without(f func() *jetstream.Deployment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deployment = f()
}

// take returns what was written since it was called last. The error is what is wrong with it.
func (b *books) take(ctx context.Context) (*linear.Journal, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read(ctx)
	j := b.recent
	for _, s := range b.shards {
		j.Forgot(s.Forgot())
	}
	b.recent = linear.NewPartialJournal()
	return j, b.err
}

func (b *books) totals() (total audit.Totals) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.shards {
		total.Add(s.Totals)
	}
	return total
}
