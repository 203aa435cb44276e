package fences3_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard compares a put with the same one under a guard, in turns.
func BenchmarkGuard(b *testing.B) {
	client := connect(gateway.Addr)
	guard, c := mustGuard(b, client, bucket), fence.Claim{Resource: "r", Token: 1}
	bareKey, guardedKey := newKey(), newKey()
	fencetest.Compare(b, func() error {
		in := object(bareKey, "value")
		in.Bucket = aws.String(bucket)
		return failure(client.PutObject(b.Context(), in))
	}, func() error {
		c.Token++
		return failure(guard.Put(b.Context(), c, object(guardedKey, "value")))
	})
}
