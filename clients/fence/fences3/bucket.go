package fences3

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-io/holdfast/clients/fence"
)

const (
	// DefaultPrefix is the prefix of the keys of the guard itself.
	DefaultPrefix = "holdfast-fence/"
	// MaxBody bounds a guarded object, in bytes: it is held in memory, to be sent again after a conflict. Keep
	// more than that in an object that is never overwritten, and guard the object that names it.
	MaxBody = 64 << 20
)

// Bucket is a bucket with guarded objects. It may be used concurrently.
type Bucket struct {
	client Client
	name   string
	prefix string
	rule   fence.Rule
	plain  bool
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

// WithPrefix sets the prefix of the keys of high-water marks; the default is [DefaultPrefix]. Callers cannot
// write below it.
func WithPrefix(prefix string) Option {
	return func(b *Bucket) { b.prefix = prefix }
}

// WithPlainBodies leaves bodies as they are, without a stamp. It is safe only where every write has an
// ETag of its own, even one of the same bytes; [Bucket.Verify] finds out.
func WithPlainBodies() Option {
	return func(b *Bucket) { b.plain = true }
}

// WithObserver sets the observer, which receives each claim that the guard has checked.
func WithObserver(o fence.Observer) Option {
	return func(b *Bucket) { b.observer = o }
}

// New returns the guard of a bucket. The error is [fence.ErrInvalid] if an argument breaks a
// rule.
func New(client Client, bucket string, opts ...Option) (*Bucket, error) {
	b := &Bucket{client: client, name: bucket, prefix: DefaultPrefix}
	for _, o := range opts {
		o(b)
	}
	if err := b.rule.Validate(); err != nil {
		return nil, err
	}
	switch {
	case client == nil:
		return nil, fmt.Errorf("%w: the client is nil", fence.ErrInvalid)
	case b.prefix == "":
		return nil, fmt.Errorf("%w: the prefix of marks is empty, which would leave no key to callers",
			fence.ErrInvalid)
	}
	return b, nil
}

// Put stores an object as PutObject does, with its mark. The input is not changed, and its conditions
// are the guard's to set. A checksum that it brings along must be of the body with the stamp, so leave
// that to the SDK.
//
// It contends with other writers until ctx ends. The error is a [fence.StaleError] if the rule refuses the
// claim, [fence.ErrInvalid] if the claim or the input breaks a rule, and [fence.ErrMalformed] if the stored mark
// is not one; nothing was written then. After [fence.ErrUnknown] the object may have been written.
func (b *Bucket) Put(ctx context.Context, c fence.Claim, in *s3.PutObjectInput) (*s3.PutObjectOutput, error) {
	if err := b.admit(c, in); err != nil {
		return nil, err
	}
	body, err := readBody(in.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the body of %q: %w", aws.ToString(in.Key), err)
	}
	return b.write(ctx, c, draft{PutObjectInput: *in, body: body, stamped: !b.plain})
}

// Modify stores an object as [Bucket.Put] does; its body is what f makes of the present one, which is nil if there is
// no object. The input has no body, and all attributes of the new object. The put is on the condition that the object
// is unchanged since it was read. Otherwise Modify reads again and calls f again, until ctx ends, so no other change is
// lost. If f fails, nothing is written, and the error is that of f.
func (b *Bucket) Modify(ctx context.Context, c fence.Claim, in *s3.PutObjectInput,
	f func(old []byte) ([]byte, error)) error {
	if err := b.admit(c, in); err != nil {
		return err
	}
	if in.Body != nil {
		return fmt.Errorf("%w: the input has a body; f returns it", fence.ErrInvalid)
	}
	_, err := b.write(ctx, c, draft{PutObjectInput: *in, change: f, stamped: !b.plain})
	return err
}

// Delete takes an object away and leaves a tombstone, which keeps the mark. It does so too if there is
// no object. Errors are those of [Bucket.Put].
func (b *Bucket) Delete(ctx context.Context, c fence.Claim, key string) error {
	in := &s3.PutObjectInput{Key: &key}
	if err := b.admit(c, in); err != nil {
		return err
	}
	_, err := b.write(ctx, c, draft{PutObjectInput: *in, stamped: !b.plain, deleted: true})
	return err
}

// Raise raises a mark that stands by itself, for data that is elsewhere; see [fence.Marks]. It has
// nothing to do with the marks of objects, which only a put can raise.
func (b *Bucket) Raise(ctx context.Context, c fence.Claim) error {
	if err := b.rule.Check(c, 0); err != nil {
		return err
	}
	in := s3.PutObjectInput{Key: aws.String(b.markKey(c.Resource)),
		ContentType: aws.String("text/plain; charset=utf-8")}
	_, err := b.write(ctx, c, draft{PutObjectInput: in, body: []byte(c.Resource), stamped: true})
	return err
}

// markKey returns where the mark of a resource stands: under its hash, because stores differ in what
// they make of long names, slashes and dots.
func (b *Bucket) markKey(resource string) string {
	hash := sha256.Sum256([]byte(resource))
	return b.prefix + "marks/" + hex.EncodeToString(hash[:])
}

// admit checks what a caller wants to write.
func (b *Bucket) admit(c fence.Claim, in *s3.PutObjectInput) error {
	if err := b.rule.Check(c, 0); err != nil {
		return err
	}
	if in == nil {
		return fmt.Errorf("%w: the input is nil", fence.ErrInvalid)
	}
	switch key := aws.ToString(in.Key); {
	case key == "":
		return fmt.Errorf("%w: the input has no key", fence.ErrInvalid)
	case strings.HasPrefix(key, b.prefix):
		return fmt.Errorf("%w: key %q: those that begin with %q are the guard's; choose another one, or set WithPrefix",
			fence.ErrInvalid, key, b.prefix)
	case in.Bucket != nil && *in.Bucket != b.name:
		return fmt.Errorf("%w: the input is for bucket %q, and the guard for %q", fence.ErrInvalid, *in.Bucket, b.name)
	case in.IfMatch != nil || in.IfNoneMatch != nil:
		return fmt.Errorf("%w: the input has a condition of its own, and S3 takes only the guard's", fence.ErrInvalid)
	}
	for name := range in.Metadata {
		if strings.HasPrefix(strings.ToLower(name), reserved) {
			return fmt.Errorf("%w: metadata %q: names that begin with %q are the guard's; rename it", fence.ErrInvalid,
				name, reserved)
		}
	}
	return nil
}

func readBody(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	return body, cmp.Or(err, checkSize(body))
}

func checkSize(body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf(
			"%w: it has more than %d bytes; put them into an object that is never overwritten, and guard the one "+
				"that names it", fence.ErrInvalid, MaxBody)
	}
	return nil
}
