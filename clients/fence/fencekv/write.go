package fencekv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// longestPause between two rounds of a contended write is far above what one round takes.
const longestPause = 50 * time.Millisecond

// Put sets the value of the claim's resource and returns the entry's revision. It contends with other
// writers until ctx ends.
//
// The error is a [fence.StaleError] if the rule refuses the claim, [fence.ErrInvalid] if the claim breaks a
// rule, and [fence.ErrMalformed] if the entry was written without the guard; nothing was written then.
// After [fence.ErrUnknown] the entry may have been written.
func (b *Bucket) Put(ctx context.Context, c fence.Claim, value []byte) (revision uint64, err error) {
	return b.change(ctx, c, func(s *state) error {
		s.Value, s.deleted = value, false
		return nil
	})
}

// Modify sets the value of the claim's resource to what f makes of the value that it has, which is nil if there is
// none, on the condition that the entry is unchanged since. Otherwise it reads again and calls f again, until ctx ends,
// so no other change is lost. If f fails, nothing is written, and the error is that of f. Errors are those of
// [Bucket.Put].
func (b *Bucket) Modify(ctx context.Context, c fence.Claim, f func(old []byte) ([]byte, error)) error {
	_, err := b.change(ctx, c, func(s *state) (err error) {
		var old []byte
		if s.Revision > 0 && !s.deleted {
			old = append([]byte{}, s.Value...) // not nil
		}
		s.Value, err = f(old)
		s.deleted = false
		return err
	})
	return err
}

// Update is [Bucket.Put] on the condition that the entry has the revision, 0 for one that there never
// was. It is jetstream.ErrKeyRevisionMismatch if it has another, or if a replica answers that does not
// know the revision yet, and writes nothing.
func (b *Bucket) Update(ctx context.Context, c fence.Claim, value []byte, revision uint64) (uint64, error) {
	return b.change(ctx, c, func(s *state) error {
		if s.Revision != revision {
			return fmt.Errorf("bucket %q, key %q: %w: it is %d, not %d", b.name, s.key,
				jetstream.ErrKeyRevisionMismatch, s.Revision, revision)
		}
		s.Value, s.deleted = value, false
		return nil
	})
}

// Delete takes the value of the claim's resource away, if there is one; the mark stays. Errors are
// those of [Bucket.Put].
func (b *Bucket) Delete(ctx context.Context, c fence.Claim) error {
	_, err := b.change(ctx, c, func(s *state) error {
		s.Value, s.deleted = nil, true
		return nil
	})
	return err
}

// Raise raises the mark of the claim's resource, the one that [Bucket.Put] checks, and leaves its value
// as it is. It writes even if the mark that it has read is high enough: the read may be old, and only a
// write is certain. Errors are those of [Bucket.Put].
func (b *Bucket) Raise(ctx context.Context, c fence.Claim) error {
	_, err := b.change(ctx, c, markOnly)
	return err
}

// Adopt takes over an entry that was written past the guard, with its value: the claim's token becomes
// its mark. The mark that may have stood there before is lost, so the claim should be of a lease that is
// held now. On any other entry it does what [Bucket.Raise] does.
func (b *Bucket) Adopt(ctx context.Context, c fence.Claim) error {
	_, err := b.overwrite(ctx, c, markOnly)
	return err
}

// edit changes what stands in the bucket, or is an error and nothing is written.
type edit func(*state) error

// markOnly leaves the value as it is, also if there is none.
func markOnly(s *state) error {
	s.deleted = s.deleted || s.Revision == 0
	return nil
}

// change edits an entry that the guard wrote, or that there is not yet.
func (b *Bucket) change(ctx context.Context, c fence.Claim, e edit) (revision uint64, err error) {
	return b.overwrite(ctx, c, func(s *state) error {
		if s.foreign != "" {
			return b.foreignError(*s)
		}
		return e(s)
	})
}

// overwrite reads the entry, checks the claim, edits and writes, and starts again after a conflict.
func (b *Bucket) overwrite(ctx context.Context, c fence.Claim, e edit) (revision uint64, err error) {
	defer b.observer.Conclude("fencekv", c, &err)
	for wait := time.Millisecond; ; wait = min(2*wait, longestPause) {
		s, err := b.read(ctx, c)
		if err != nil {
			return 0, err
		}
		if err := e(&s); err != nil {
			return 0, err
		}
		s.Token = c.Token
		revision, err := b.publish(ctx, s)
		if !isConflict(err) {
			return revision, err
		}
		if err := pause(ctx, wait); err != nil {
			return 0, fmt.Errorf("bucket %q, key %q: nothing was written, others came in between: %w", b.name, s.key,
				err)
		}
	}
}

// read returns the entry that the claim may overwrite.
func (b *Bucket) read(ctx context.Context, c fence.Claim) (state, error) {
	if err := c.Check(); err != nil {
		return state{}, err
	}
	s, err := b.get(ctx, c.Resource)
	if err != nil {
		return state{}, err
	}
	return s, b.rule.Check(c, s.Token)
}

// publish writes the entry if it still has its revision.
func (b *Bucket) publish(ctx context.Context, s state) (revision uint64, err error) {
	m := &nats.Msg{Subject: b.prefix + subject(b.name, s.key), Data: s.Value,
		Header: nats.Header{messages.HeaderToken: {s.Token.String()}}}
	if s.deleted {
		m.Data = nil
		m.Header.Set(headerDeleted, "true")
	}
	ack, err := b.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(s.Revision))
	switch {
	case err == nil:
		return ack.Sequence, nil
	case isRefusal(err):
		return 0, fmt.Errorf("bucket %q: writing key %q: %w", b.name, s.key, err)
	}
	return 0, fmt.Errorf("bucket %q: writing key %q: %w: %w", b.name, s.key, fence.ErrUnknown, err)
}

// isRefusal reports whether JetStream has said that it did not take a write. nats.go sends one again
// only if no server has taken it, so the first answer is the answer to the only copy.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*jetstream.APIError](err)
	return ok || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// isConflict reports whether the entry had another revision. Replicated streams have a code of their own
// for a write that is still on its way to the replicas.
func isConflict(err error) bool {
	refusal, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// pause waits for a random part of at most d, so that contenders do not meet again.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(rand.N(d)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
