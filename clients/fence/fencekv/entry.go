package fencekv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// headerDeleted marks an entry that has only a mark.
	headerDeleted = "Fencing-Deleted"
	// headerOperation is how JetStream says that a key was deleted. The guard never does.
	headerOperation = "KV-Operation"
)

// Entry is the value of a resource with its high-water mark.
type Entry struct {
	Resource string
	Value    []byte
	Token    fence.Token // the mark; the entry was written under it or a lower one
	Revision uint64
	Created  time.Time
}

// Get returns the entry of a resource. To change it, use [Bucket.Modify], or [Bucket.Raise] before Get. It is
// jetstream.ErrKeyNotFound if there is none or if it was deleted, and [fence.ErrMalformed] if the guard did not write
// it.
func (b *Bucket) Get(ctx context.Context, resource string) (*Entry, error) {
	s, err := b.get(ctx, resource)
	if err != nil {
		return nil, err
	}
	if s.foreign != "" {
		return nil, b.foreignError(s)
	}
	if s.deleted || s.Revision == 0 {
		return nil, fmt.Errorf("bucket %q, resource %q: %w", b.name, resource, jetstream.ErrKeyNotFound)
	}
	return &s.Entry, nil
}

// state is an entry as the guard sees it; revision 0 if there never was one.
type state struct {
	Entry
	key     string
	deleted bool   // nothing but a mark
	foreign string // why the guard cannot have written it; empty if it has
}

func (b *Bucket) get(ctx context.Context, resource string) (state, error) {
	s := state{Entry: Entry{Resource: resource}}
	var err error
	if s.key, err = messages.EncodeKey(resource); err != nil {
		return s, err
	}
	m, err := b.stream.GetLastMsgForSubject(ctx, subject(b.name, s.key))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("bucket %q: reading key %q: %w", b.name, s.key, err)
	}
	s.Value, s.Revision, s.Created = m.Data, m.Sequence, m.Time
	s.parse(m.Header)
	return s, nil
}

// subject is where the messages of a key are.
func subject(bucket, key string) string {
	return "$KV." + bucket + "." + key
}

// parse reads what stands beside the value.
func (s *state) parse(h nats.Header) {
	var err error
	switch tokens := h[messages.HeaderToken]; {
	case h.Get(headerOperation) != "" || h.Get(jetstream.MarkerReasonHeader) != "":
		s.deleted, s.foreign = true, "it was deleted without one"
	case len(tokens) == 0:
		s.foreign = "it has no " + messages.HeaderToken
	case len(tokens) > 1:
		s.foreign = "it has several of " + messages.HeaderToken
	default:
		if s.Token, err = fence.ParseToken(tokens[0]); err != nil {
			s.foreign = fmt.Sprintf("its %s is malformed: %v", messages.HeaderToken, err)
		}
		s.deleted = h.Get(headerDeleted) != ""
	}
}

func (b *Bucket) foreignError(s state) error {
	return fmt.Errorf("bucket %q, key %q, revision %d: %w: %s; stop its writer, then take it over with Adopt",
		b.name, s.key, s.Revision, fence.ErrMalformed, s.foreign)
}
