package fencekv

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Bucket is a guarded key-value bucket. It may be used concurrently.
type Bucket struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	name   string
	prefix string // of what is published, if the bucket is in another domain or account
	rule   fence.Rule
	// observer receives each claim that was checked; nil: there is no observer.
	observer fence.Observer
}

var _ fence.Marks = (*Bucket)(nil)

// Option changes how a bucket is guarded.
type Option func(*Bucket)

// WithRule sets the rule; the default is [fence.Repeatable].
func WithRule(r fence.Rule) Option {
	return func(b *Bucket) { b.rule = r }
}

// WithObserver sets the observer, which receives each claim that the guard has checked.
func WithObserver(o fence.Observer) Option {
	return func(b *Bucket) { b.observer = o }
}

// Open returns the guard of an existing bucket. The error is jetstream.ErrBucketNotFound if there is none,
// [fence.ErrUnfit] if its settings let marks vanish, and [fence.ErrInvalid] if an option breaks a rule.
func Open(ctx context.Context, js jetstream.JetStream, bucket string, opts ...Option) (*Bucket, error) {
	b := &Bucket{js: js, name: bucket}
	if prefix := js.Options().APIPrefix; prefix != jetstream.DefaultAPIPrefix {
		b.prefix = prefix
	}
	for _, o := range opts {
		o(b)
	}
	if err := b.rule.Validate(); err != nil {
		return nil, err
	}
	if _, err := js.KeyValue(ctx, bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fmt.Errorf("bucket %q: %w; create it with: nats kv add %s --storage=file", bucket, err, bucket)
	} else if err != nil {
		return nil, fmt.Errorf("bucket %q: %w", bucket, err)
	}
	var err error
	if b.stream, err = js.Stream(ctx, "KV_"+bucket); err != nil {
		return nil, fmt.Errorf("bucket %q: %w", bucket, err)
	}
	if reason := forgets(b.stream.CachedInfo().Config); reason != "" {
		return nil, fmt.Errorf("bucket %q: %w: %s", bucket, fence.ErrUnfit, reason)
	}
	return b, nil
}

// forgets says why a bucket of these settings loses marks, and what to do; empty if it does not.
func forgets(c jetstream.StreamConfig) string {
	switch {
	case c.Mirror != nil:
		return "it is a mirror, which lags behind; open the bucket that it mirrors"
	case c.Storage != jetstream.FileStorage:
		return "it is kept in memory; make one with storage in files"
	case c.PersistMode == jetstream.AsyncPersistMode:
		return "it confirms before it has written; make one with the default persist mode"
	case c.MaxAge > 0:
		return "its entries expire, and marks with them; make one without a TTL"
	case c.Discard == jetstream.DiscardOld && (c.MaxBytes > 0 || c.MaxMsgs > 0):
		return "when it is full, it drops old entries, and marks with them; set discard to new, or lift its limits"
	}
	return ""
}
