package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// purgeStep is how many positions one purge covers. The bucket takes no append meanwhile: some
	// 2 µs for each message removed, and some milliseconds to find them among 50 000.
	purgeStep = 1000
	// purgeTimeout is generous for a step, also on a slow disk.
	purgeTimeout = 10 * askTimeout
)

// Purge removes the commits at positions up to through, though never the newest one, and the pages of
// these names. It goes no further than this Bucket has itself written, so that an owner that was
// deposed without noticing leaves its successor's records alone. It does so in steps, between which
// appends get their turn. If it returns an error, a part may have been removed; calling it again does
// the rest.
func (b *Bucket) Purge(ctx context.Context, through uint64, pages []string) error {
	written := b.written.Load()
	if written == 0 {
		return nil
	}
	for _, page := range pages {
		if err := b.purge(ctx, journal.PageKeys+page, written); err != nil {
			return err
		}
	}
	return b.purgeJournal(ctx, through)
}

func (b *Bucket) purgeJournal(ctx context.Context, through uint64) error {
	newest := b.commit.Load()
	if newest == 0 {
		return nil
	}
	through = min(through, newest-1)
	m, err := b.first(ctx, 1, b.subject+journal.CommitKeys+">")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bucket %s: cannot purge the journal: %w", b.name, err)
	}
	for done := m.Sequence - 1; done < through; {
		done = min(done+purgeStep, through)
		if err := b.purge(ctx, journal.CommitKeys+">", done); err != nil {
			return err
		}
	}
	return nil
}

// purge removes what has such a key and stands at a position up to through.
func (b *Bucket) purge(ctx context.Context, key string, through uint64) error {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	err := jsapi.Request(b.nc, "STREAM.PURGE."+streamName(b.name), func() error {
		return b.stream.Purge(ctx, jetstream.WithPurgeSubject(b.subject+key), jetstream.WithPurgeSequence(through+1))
	})
	if err != nil {
		return fmt.Errorf("bucket %s: cannot purge %s up to position %d: %w", b.name, key, through, err)
	}
	return nil
}
