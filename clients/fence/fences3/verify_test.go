package fences3_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fences3"
)

func TestVerify(t *testing.T) {
	for _, name := range []string{bucket, versioned} {
		must(t, mustGuard(t, connect(gateway.Addr), name).Verify(t.Context()))
	}
	list, err := connect(gateway.Addr).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{
		Bucket: aws.String(bucket), Prefix: aws.String(fences3.DefaultPrefix + "probe/")})
	must(t, err)
	if len(list.Contents) != 0 {
		t.Errorf("%d probes were left behind", len(list.Contents))
	}
}

// A store that ignores a condition is the gateway with that condition taken out of the requests.
func TestVerifyUnfit(t *testing.T) {
	for name, test := range map[string]struct {
		ignore func(*s3.PutObjectInput)
		want   string
	}{
		"IfMatch":     {func(in *s3.PutObjectInput) { in.IfMatch = nil }, "If-Match"},
		"IfNoneMatch": {func(in *s3.PutObjectInput) { in.IfNoneMatch = nil }, "If-None-Match"},
		"Both":        {func(in *s3.PutObjectInput) { in.IfMatch, in.IfNoneMatch = nil, nil }, "If-None-Match"},
		"Metadata":    {func(in *s3.PutObjectInput) { in.Metadata = nil }, "metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			err := mustGuard(t, forgetful{connect(gateway.Addr), test.ignore}, bucket).Verify(t.Context())
			if !errors.Is(err, fence.ErrUnfit) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want ErrUnfit because of %s", err, test.want)
			}
		})
	}
}

// forgetful loses a part of every put.
type forgetful struct {
	*s3.Client
	ignore func(*s3.PutObjectInput)
}

func (f forgetful) PutObject(ctx context.Context, in *s3.PutObjectInput,
	opts ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	less := *in
	f.ignore(&less)
	return f.Client.PutObject(ctx, &less, opts...)
}

// The gateway's ETag is a hash of the bytes, so plain bodies are not safe there, and Verify says so.
func TestVerifyPlainBodies(t *testing.T) {
	err := mustGuard(t, connect(gateway.Addr), bucket, fences3.WithPlainBodies()).Verify(t.Context())
	if !errors.Is(err, fence.ErrUnfit) || !strings.Contains(err.Error(), "WithPlainBodies") {
		t.Errorf("%v, want ErrUnfit because of plain bodies", err)
	}
}

func TestPlainBodies(t *testing.T) {
	client, key := connect(gateway.Addr), newKey()
	guard := mustGuard(t, client, bucket, fences3.WithPlainBodies())
	must(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 33}, object(key, "body"))))
	out, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: &key})
	must(t, err)
	if *out.ContentLength != 4 || out.Metadata["holdfast-fencing-token"] != "000000000000033" {
		t.Errorf("%d bytes, metadata %v", *out.ContentLength, out.Metadata)
	}
	wantObject(t, guard, key, "body")
	wantStale(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 32}, object(key, "late"))), 33)
}

// A holder is paused between reading the mark and putting, and meanwhile the bytes go back to what they
// were, under a higher token. The stamp makes that another ETag.
func TestSameBytes(t *testing.T) {
	key, other := newKey(), mustGuard(t, connect(gateway.Addr), bucket)
	write := func(token fence.Token, value string) {
		must(t, failure(other.Put(t.Context(), fence.Claim{Resource: "r", Token: token}, object(key, value))))
	}
	write(32, "same")
	once := false
	late := mustGuard(t, &paused{connect(gateway.Addr), func() {
		if !once {
			once = true
			write(34, "different")
			write(35, "same")
		}
	}}, bucket)
	wantStale(t, failure(late.Put(t.Context(), fence.Claim{Resource: "r", Token: 33}, object(key, "late"))), 35)
	wantObject(t, other, key, "same")
}

// paused is a client that lets something happen before each put.
type paused struct {
	*s3.Client
	meanwhile func()
}

func (p *paused) PutObject(ctx context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options)) (*s3.PutObjectOutput,
	error) {
	p.meanwhile()
	return p.Client.PutObject(ctx, in, opts...)
}
