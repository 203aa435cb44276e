package fences3

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// How long a contended write waits before it begins again, at most: at first, and at last.
const (
	shortestPause = 2 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// Metadata of the guard, as the SDK writes and reads it: without the prefix x-amz-meta-.
const (
	reserved    = "holdfast-"
	metaToken   = reserved + "fencing-token" // 15 digits
	metaStamp   = reserved + "stamp"         // how many bytes the stamp has
	metaDeleted = reserved + "deleted"       // "true" on a tombstone
)

// draft is an object on its way into the bucket.
type draft struct {
	s3.PutObjectInput
	body    []byte
	change  func(old []byte) ([]byte, error) // makes the body; nil: it is there already
	stamped bool
	deleted bool
}

// write reads the mark, checks the claim and puts the object, and starts again after a conflict.
func (b *Bucket) write(ctx context.Context, c fence.Claim, d draft) (_ *s3.PutObjectOutput, err error) {
	defer b.observer.Conclude("fences3", c, &err)
	d.prepare(b.name, c)
	for wait := shortestPause; ; wait = min(2*wait, longestPause) {
		s, err := b.read(ctx, *d.Key, d.change != nil)
		if err != nil {
			return nil, err
		}
		if err := b.rule.Check(c, s.token); err != nil {
			return nil, err
		}
		filled, err := d.filled(c, s)
		if err != nil {
			return nil, err
		}
		out, err := b.put(ctx, filled, s)
		if err == nil {
			return out, nil
		}
		if !isConflict(err) {
			return nil, b.wrong("writing", *d.Key, unknown(err))
		}
		if ended := pause(ctx, wait); ended != nil {
			return nil, b.wrong("writing", *d.Key,
				fmt.Errorf("nothing was written, others were faster: %w; last: %w", ended, err))
		}
	}
}

// prepare adds the mark.
func (d *draft) prepare(bucket string, c fence.Claim) {
	d.Bucket, d.ContentLength = &bucket, nil
	d.Metadata = maps.Clone(d.Metadata)
	if d.Metadata == nil {
		d.Metadata = map[string]string{}
	}
	d.Metadata[metaToken] = c.Token.String()
	if d.deleted {
		d.Metadata[metaDeleted] = "true"
	}
	if d.stamped {
		d.Metadata[metaStamp] = strconv.Itoa(len(stamp(c.Token)))
	}
}

// filled returns the draft with the bytes to store where the object was seen in this state.
func (d draft) filled(c fence.Claim, seen state) (_ draft, err error) {
	if d.change != nil {
		if d.body, err = d.change(seen.body); err != nil {
			return d, err
		}
		if err := checkSize(d.body); err != nil {
			return d, fmt.Errorf("the new body of %q: %w", *d.Key, err)
		}
	}
	if d.stamped {
		d.body = append(slices.Clip(d.body), stamp(c.Token)...)
	}
	return d, nil
}

// stamp returns what ends a body that is written under a token. It is of one length for all.
func stamp(t fence.Token) string { return "\n" + metaToken + ": " + t.String() + "\n" }

// put stores the draft if the object is still as it was seen.
func (b *Bucket) put(ctx context.Context, d draft, seen state) (*s3.PutObjectOutput, error) {
	d.Body = bytes.NewReader(d.body)
	if seen.etag == "" {
		d.IfNoneMatch = aws.String("*")
	} else {
		d.IfMatch = &seen.etag
	}
	return b.client.PutObject(ctx, &d.PutObjectInput, repeatThrottled)
}

// wrong says where an error came from, and how to make a bucket that is missing.
func (b *Bucket) wrong(doing, key string, err error) error {
	if code(err) == codeNoBucket {
		return fmt.Errorf("bucket %q: %w; create it first: aws s3 mb s3://%[1]s", b.name, err)
	}
	return fmt.Errorf("bucket %q: %s %q: %w", b.name, doing, key, err)
}
