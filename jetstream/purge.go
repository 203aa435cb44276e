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
	// purgeStep is how many positions one purge of commits between pages covers. It blocks appends: about 2 µs for each
	// message that it removes, and some milliseconds to find them among 50 000.
	purgeStep = 1000
	// prefixStep is how many positions one purge of everything before the pages covers. It blocks appends for about
	// 10 ms, however few they are, and 0.5 µs for each.
	prefixStep = 20_000
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

// purgeJournal removes the commits before the first page by position alone, for which JetStream drops whole files, and
// those behind it by their key, for which it looks at every message.
func (b *Bucket) purgeJournal(ctx context.Context, through uint64) error {
	newest := b.commit.Load()
	if newest == 0 {
		return nil
	}
	through = min(through, newest-1)
	commit, found, err := b.firstOf(ctx, journal.CommitKeys)
	if err != nil || !found {
		return err
	}
	// A deposed leader may answer, which lacks the newest pages: those are behind all that it knows. If it knows none,
	// any page may be missing.
	page, found, err := b.firstOf(ctx, journal.PageKeys)
	if err != nil {
		return err
	}
	done := commit - 1
	if found {
		if done, err = b.purgeSteps(ctx, everything, prefixStep, done, min(page-1, through)); err != nil {
			return err
		}
	}
	_, err = b.purgeSteps(ctx, journal.CommitKeys+">", purgeStep, done, through)
	return err
}

// firstOf returns the position of the first message with such a key.
func (b *Bucket) firstOf(ctx context.Context, keys string) (position uint64, found bool, err error) {
	m, err := b.first(ctx, 1, b.subject+keys+">")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("bucket %s: cannot purge the journal: %w", b.name, err)
	}
	return m.Sequence, true, nil
}

// purgeSteps removes the messages with the key at positions behind done up to through, and returns how far it came.
func (b *Bucket) purgeSteps(ctx context.Context, key string, step, done, through uint64) (uint64, error) {
	for done < through {
		next := min(done+step, through)
		if err := b.purge(ctx, key, next); err != nil {
			return done, err
		}
		done = next
	}
	return done, nil
}

// everything is the key of all messages of a bucket.
const everything = ">"

// purge removes the messages with the key at positions up to through, which is above 0.
func (b *Bucket) purge(ctx context.Context, key string, through uint64) error {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSequence(through + 1)}
	if key != everything { // JetStream drops files only if there is no filter
		options = append(options, jetstream.WithPurgeSubject(b.subject+key))
	}
	err := jsapi.Request(b.nc, "STREAM.PURGE."+streamName(b.name),
		func() error { return b.stream.Purge(ctx, options...) })
	if err != nil {
		return fmt.Errorf("bucket %s: cannot purge %s up to position %d: %w", b.name, key, through, err)
	}
	return nil
}
