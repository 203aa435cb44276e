package hostile

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// readEvery is how often the journals are read: before a compaction removes what has been written since.
const readEvery = 100 * time.Millisecond

// books reads the journals while they are written, so that the node may compact them.
type books struct {
	deployment *jetstream.Deployment

	mu      sync.Mutex
	journal *linear.Journal
	at      [shards]uint64
	// load are the resources that may be there beside those of the attackers, tokens the last ones of all.
	load   map[string]bool
	tokens map[string]uint64
	// changed counts the changes of the attackers' resources.
	changed int
	wrong   []string
	err     error
}

func openBooks(s *target) *books {
	s.Helper()
	d, err := jetstream.OpenDeployment(s.Context(), s.connect(),
		jetstream.DeploymentConfig{Prefix: messages.DefaultPrefix})
	if err != nil {
		s.Fatal(err)
	}
	return &books{deployment: d, journal: new(linear.Journal), load: make(map[string]bool),
		tokens: make(map[string]uint64)}
}

// expect adds resources of the load.
func (b *books) expect(names ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		b.load[name] = true
	}
}

// follow reads until ctx ends.
func (b *books) follow(ctx context.Context) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.read(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// read reads what is new, and notes what is wrong with it.
func (b *books) read(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for shard := range b.deployment.Shards() {
		last, err := b.deployment.Bucket(shard).Replay(ctx, b.at[shard],
			func(position uint64, r *journal.Record) error {
				b.journal.Add(messages.Shard{Number: shard}, position, r)
				b.at[shard] = position
				b.note(r)
				return nil
			})
		switch {
		case err == nil:
			b.at[shard] = max(b.at[shard], last)
		case ctx.Err() == nil && b.err == nil:
			b.err = fmt.Errorf("shard %d: %w", shard, err)
		}
	}
}

// mostWrong bounds what is noted.
const mostWrong = 20

func (b *books) note(r *journal.Record) {
	if len(b.wrong) < mostWrong {
		b.wrong = append(b.wrong, strangers(r, b.load)...)
	}
	for _, c := range r.GetCommit().GetChanges() {
		name := c.GetGrant().GetResource()
		b.tokens[name] = max(b.tokens[name], c.GetGrant().GetToken())
		if !b.load[name] {
			b.changed++
		}
	}
}
