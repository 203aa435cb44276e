package fences3_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fences3"
)

// register keeps the value of a resource in an object that is named after it.
type register struct {
	*fences3.Bucket
	bucket string
}

func (r *register) Write(ctx context.Context, c fence.Claim, value string) error {
	_, err := r.Put(ctx, c, object(keyOf(c.Resource), value))
	return err
}

func (r *register) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	return r.Bucket.Modify(ctx, c, &s3.PutObjectInput{Key: aws.String(keyOf(c.Resource))},
		func(old []byte) ([]byte, error) {
			value, err := f(string(old))
			return []byte(value), err
		})
}

func (r *register) Read(ctx context.Context, resource string) (string, error) {
	return read(ctx, r.Bucket, keyOf(resource))
}

// keyOf returns a key that a file system takes for any resource of the suite.
func keyOf(resource string) string {
	hash := sha256.Sum256([]byte(resource))
	return hex.EncodeToString(hash[:])
}

func object(key, value string) *s3.PutObjectInput {
	return &s3.PutObjectInput{Key: &key, Body: strings.NewReader(value)}
}

// read returns the bytes of an object, none if there is no object.
func read(ctx context.Context, b *fences3.Bucket, key string) (string, error) {
	out, err := b.Get(ctx, &s3.GetObjectInput{Key: &key})
	if _, ok := errors.AsType[*types.NoSuchKey](err); ok {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	return string(body), err
}

var keys atomic.Uint64

// newKey returns a key that no other test has used.
func newKey() string { return fmt.Sprintf("key.%d", keys.Add(1)) }

func mustGuard(tb testing.TB, client fences3.Client, bucket string, opts ...fences3.Option) *fences3.Bucket {
	tb.Helper()
	b, err := fences3.New(client, bucket, opts...)
	must(tb, err)
	return b
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// failure drops the output of a call.
func failure[Output any](_ Output, err error) error { return err }

func wantStale(tb testing.TB, err error, highest fence.Token) {
	tb.Helper()
	if stale, ok := errors.AsType[*fence.StaleError](err); !ok || stale.Highest != highest {
		tb.Errorf("%v, want a StaleError after %d", err, highest)
	}
}

func wantInvalid(tb testing.TB, name string, err error) {
	tb.Helper()
	if !errors.Is(err, fence.ErrInvalid) {
		tb.Errorf("%s: %v, want one that is ErrInvalid", name, err)
	}
}

func wantObject(tb testing.TB, b *fences3.Bucket, key, want string) {
	tb.Helper()
	got, err := read(tb.Context(), b, key)
	must(tb, err)
	if got != want {
		tb.Errorf("%q is %q, want %q", key, got, want)
	}
}

// past puts an object past the guard.
func past(tb testing.TB, key, value string, metadata map[string]string) {
	tb.Helper()
	in := object(key, value)
	in.Bucket, in.Metadata = aws.String(bucket), metadata
	must(tb, failure(connect(gateway.Addr).PutObject(tb.Context(), in)))
}
