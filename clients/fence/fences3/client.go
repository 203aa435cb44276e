package fences3

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Client is what a guard needs of S3. A *s3.Client is one.
type Client interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// Codes of the store's errors.
const (
	codeNoKey     = "NoSuchKey"
	codeNoBucket  = "NoSuchBucket"
	codeNoRange   = "InvalidRange"
	codeBusy      = "ConditionalRequestConflict"
	codeCondition = "PreconditionFailed"
)

// code returns the code of a store's error, empty for any other.
func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

// isConflict reports whether a put was refused because of its condition: the object has changed, is
// gone, or is being written.
func isConflict(err error) bool {
	switch code(err) {
	case codeCondition, codeBusy, codeNoKey:
		return true
	}
	e, ok := errors.AsType[*awshttp.ResponseError](err)
	return ok && e.HTTPStatusCode() == http.StatusPreconditionFailed
}

// repeatThrottled keeps the SDK from repeating a put whose outcome is unknown: if the first one had been
// stored, and then that of a later holder, the claim would be refused as if nothing had been written.
func repeatThrottled(o *s3.Options) { o.Retryer = throttledOnly{o.Retryer} }

// unknown names an error whose outcome is unknown as such: the store has not answered, or not with a refusal.
func unknown(err error) error {
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok && answer.HTTPStatusCode()/100 == 4 {
		return err
	}
	return fmt.Errorf("%w: %w", fence.ErrUnknown, err)
}

type throttledOnly struct{ aws.Retryer }

// IsErrorRetryable reports whether the store has said that it did not take the write.
func (r throttledOnly) IsErrorRetryable(err error) bool {
	throttled := retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err)
	return throttled.Bool() && r.Retryer.IsErrorRetryable(err)
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
