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
	// purgeStep is how many positions one purge covers. It blocks appends: about 2 µs for each message that
	// it removes, and some milliseconds to find them among 50 000.
	purgeStep = 1000
	// purgeTimeout is generous for a step, also on a slow disk.
	purgeTimeout = 10 * askTimeout
)

// Purge removes the commits at positions up to through, except the newest commit, and the pages with these
// names. It reaches only as far as this Bucket has written, so that a deposed owner does not remove its
// successor's records. It works in steps, and appends are possible between them. After an error a part may
// have been removed; another call removes the rest.
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

// purge removes the messages with the key at positions up to through.
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
