package fences3_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fences3"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

func TestBucket(t *testing.T) {
	fencetest.Run(t, subject(bucket))
}

// A versioned bucket keeps the history of each object.
func TestVersionedBucket(t *testing.T) {
	s := subject(versioned)
	s.History = history
	fencetest.Run(t, s)
}

func subject(bucket string) fencetest.Subject {
	guard := func(tb testing.TB, rule fence.Rule, addr string) *fences3.Bucket {
		tb.Helper()
		return mustGuard(tb, connect(addr), bucket, fences3.WithRule(rule))
	}
	return fencetest.Subject{
		Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
			tb.Helper()
			return &register{guard(tb, rule, gateway.Addr), bucket}
		},
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return &register{mustGuard(tb, connect(gateway.Addr), bucket, fences3.WithObserver(o)), bucket}
		},
		Through: func(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
			tb.Helper()
			return &register{guard(tb, rule, via(gateway.Addr)), bucket}
		},
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return guard(tb, rule, gateway.Addr)
		},
		Apart:   true,
		Restart: gateway.Restart,
	}
}

// history returns the values that an object has had, oldest first.
func history(tb testing.TB, resource string) []string {
	tb.Helper()
	client, key := connect(gateway.Addr), keyOf(resource)
	guard := mustGuard(tb, client, versioned)
	var values []string
	for pages := s3.NewListObjectVersionsPaginator(client,
		&s3.ListObjectVersionsInput{Bucket: aws.String(versioned), Prefix: &key}); pages.HasMorePages(); {
		page, err := pages.NextPage(tb.Context())
		must(tb, err)
		for _, v := range page.Versions {
			if *v.Key == key {
				values = append(values, version(tb, guard, key, v.VersionId))
			}
		}
	}
	slices.Reverse(values)
	return values
}

func version(tb testing.TB, guard *fences3.Bucket, key string, id *string) string {
	tb.Helper()
	out, err := guard.Get(tb.Context(), &s3.GetObjectInput{Key: &key, VersionId: id})
	must(tb, err)
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	must(tb, err)
	return string(body)
}

// The input comes back as it was, and what else it says is kept.
func TestPut(t *testing.T) {
	guard, key := mustGuard(t, connect(gateway.Addr), bucket), newKey()
	in := object(key, "body")
	in.Metadata, in.ContentType = map[string]string{"colour": "red"}, aws.String("text/x-test")
	before := maps.Clone(in.Metadata)
	must(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 33}, in)))
	if !maps.Equal(in.Metadata, before) || in.IfNoneMatch != nil || in.Bucket != nil {
		t.Errorf("the input was changed: %+v", in)
	}
	out, err := guard.Get(t.Context(), &s3.GetObjectInput{Key: &key})
	must(t, err)
	defer out.Body.Close()
	if out.Metadata["colour"] != "red" || aws.ToString(out.ContentType) != "text/x-test" || *out.ContentLength != 4 {
		t.Errorf("got metadata %v, type %s, length %d", out.Metadata, *out.ContentType, *out.ContentLength)
	}
}

// A reader without the guard finds the stamp where the metadata says.
func TestStamp(t *testing.T) {
	client, key := connect(gateway.Addr), newKey()
	must(t, failure(mustGuard(t, client, bucket).Put(t.Context(), fence.Claim{Resource: "r", Token: 33},
		object(key, "body"))))
	out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	must(t, err)
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	must(t, err)
	if got, want := string(body), "body\nholdfast-fencing-token: 000000000000033\n"; got != want {
		t.Errorf("the object is %q, want %q", got, want)
	}
	if got := out.Metadata["holdfast-stamp"]; got != "41" {
		t.Errorf("the stamp is said to have %s bytes", got)
	}
}

// A body that looks like a stamp, or has one, is a body.
func TestForgedStamp(t *testing.T) {
	guard, key := mustGuard(t, connect(gateway.Addr), bucket), newKey()
	const forged = "x\nholdfast-fencing-token: 000000000000099\n"
	must(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 33}, object(key, forged))))
	wantObject(t, guard, key, forged)
	must(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 34}, object(key, "next"))))
}

func TestDelete(t *testing.T) {
	guard, key := mustGuard(t, connect(gateway.Addr), bucket), newKey()
	c := fence.Claim{Resource: "r", Token: 33}
	must(t, failure(guard.Put(t.Context(), c, object(key, "body"))))
	c.Token = 34
	must(t, guard.Delete(t.Context(), c, key))
	if err := failure(guard.Get(t.Context(), &s3.GetObjectInput{Key: &key})); !isNoSuchKey(err) {
		t.Errorf("reading a deleted object: %v", err)
	}
	c.Token = 33
	wantStale(t, failure(guard.Put(t.Context(), c, object(key, "back"))), 34)
	wantStale(t, guard.Delete(t.Context(), c, key), 34)
	c.Token = 34
	must(t, guard.Delete(t.Context(), c, key))
	must(t, guard.Delete(t.Context(), c, newKey()))
	must(t, failure(guard.Put(t.Context(), c, object(key, "again"))))
	wantObject(t, guard, key, "again")
}

func isNoSuchKey(err error) bool {
	_, ok := errors.AsType[*types.NoSuchKey](err)
	return ok
}

// Objects that were there before the guard are taken over by the first claim, empty ones too, of which
// some stores have no last byte to give.
func TestForeignObject(t *testing.T) {
	client := connect(gateway.Addr)
	for _, store := range []fences3.Client{client, rangeless{client}} {
		guard := mustGuard(t, store, bucket)
		for _, value := range []string{"", "foreign"} {
			key := newKey()
			past(t, key, value, nil)
			wantObject(t, guard, key, value)
			must(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 33}, object(key, "ours"))))
			wantObject(t, guard, key, "ours")
			wantStale(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 32}, object(key, "late"))),
				33)
		}
	}
}

// rangeless refuses a range of an empty object, as Amazon S3 does and the gateway does not.
type rangeless struct{ *s3.Client }

func (r rangeless) GetObject(ctx context.Context, in *s3.GetObjectInput,
	opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	out, err := r.Client.GetObject(ctx, in, opts...)
	if err != nil || in.Range == nil || *out.ContentLength > 0 {
		return out, err
	}
	_ = out.Body.Close()
	return nil, &smithy.GenericAPIError{Code: "InvalidRange", Message: "The requested range is not satisfiable"}
}

func TestMalformedMark(t *testing.T) {
	guard, c := mustGuard(t, connect(gateway.Addr), bucket), fence.Claim{Resource: "r", Token: 33}
	for name, metadata := range map[string]map[string]string{
		"text":       {"holdfast-fencing-token": "thirty-three"},
		"short":      {"holdfast-fencing-token": "32"},
		"too high":   {"holdfast-fencing-token": "900000000000001"},
		"long stamp": {"holdfast-stamp": "5"},
		"no stamp":   {"holdfast-stamp": "-1"},
	} {
		key := newKey()
		past(t, key, "kept", metadata)
		if err := failure(guard.Get(t.Context(), &s3.GetObjectInput{Key: &key})); !errors.Is(err, fence.ErrMalformed) {
			t.Errorf("%s: reading: %v, want ErrMalformed", name, err)
		}
		if metadata["holdfast-stamp"] != "" {
			continue // the mark itself is in order
		}
		for _, err := range []error{failure(guard.Put(t.Context(), c, object(key, "lost"))),
			guard.Delete(t.Context(), c, key)} {
			if !errors.Is(err, fence.ErrMalformed) || errors.Is(err, fence.ErrStale) ||
				errors.Is(err, fence.ErrInvalid) {
				t.Errorf("%s: writing: %v, want ErrMalformed", name, err)
			}
		}
	}
}

// Marks by themselves are kept for any name, and apart from all that a caller can write.
func TestNames(t *testing.T) {
	guard := mustGuard(t, connect(gateway.Addr), bucket)
	names := []string{strings.Repeat("n", 512), strings.Repeat("n", 511), strings.Repeat("é", 256),
		strings.Repeat("🔒", 128),
		"/", "//", "..", "../" + bucket, "a/", "a", "A", "holdfast-fence/marks/a"}
	for i, name := range names {
		must(t, guard.Raise(t.Context(), fence.Claim{Resource: name, Token: fence.Token(100 + i)}))
	}
	for i, name := range names {
		wantStale(t, guard.Raise(t.Context(), fence.Claim{Resource: name, Token: 99}), fence.Token(100+i))
	}
	wantInvalid(t, "513 bytes", guard.Raise(t.Context(), fence.Claim{Resource: strings.Repeat("n", 513), Token: 1}))
	long := fence.Claim{Resource: strings.Repeat("n", 512), Token: 1}
	must(t, failure(guard.Put(t.Context(), long, object(newKey(), "x"))))
}

func TestInvalidInput(t *testing.T) {
	guard, c := mustGuard(t, connect("127.0.0.1:1"), bucket), fence.Claim{Resource: "r", Token: 33}
	for name, edit := range map[string]func(*s3.PutObjectInput){
		"no key":        func(in *s3.PutObjectInput) { in.Key = nil },
		"a mark's key":  func(in *s3.PutObjectInput) { in.Key = aws.String(fences3.DefaultPrefix + "marks/x") },
		"other bucket":  func(in *s3.PutObjectInput) { in.Bucket = aws.String("other") },
		"own If-Match":  func(in *s3.PutObjectInput) { in.IfMatch = aws.String(`"x"`) },
		"own condition": func(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") },
		"mark": func(in *s3.PutObjectInput) {
			in.Metadata = map[string]string{"Holdfast-Fencing-Token": "1"}
		},
		"reserved name":  func(in *s3.PutObjectInput) { in.Metadata = map[string]string{"holdfast-deleted": "true"} },
		"body too large": func(in *s3.PutObjectInput) { in.Body = io.LimitReader(zeros{}, fences3.MaxBody+1) },
	} {
		in := object("key", "x")
		edit(in)
		wantInvalid(t, name, failure(guard.Put(t.Context(), c, in)))
	}
	wantInvalid(t, "no input", failure(guard.Put(t.Context(), c, nil)))
	wantInvalid(t, "no claim", failure(guard.Put(t.Context(), fence.Claim{}, object("key", "x"))))
	wantInvalid(t, "deleting a mark", guard.Delete(t.Context(), c, fences3.DefaultPrefix+"marks/x"))
	wantInvalid(t, "range", failure(guard.Get(t.Context(),
		&s3.GetObjectInput{Key: aws.String("key"), Range: aws.String("bytes=0-1")})))
	wantInvalid(t, "no client", failure(fences3.New(nil, bucket)))
	for name, o := range map[string]fences3.Option{"no prefix": fences3.WithPrefix(""),
		"no rule": fences3.WithRule(7)} {
		wantInvalid(t, name, failure(fences3.New(connect("127.0.0.1:1"), bucket, o)))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestMissingBucket(t *testing.T) {
	guard, c := mustGuard(t, connect(gateway.Addr), "missing-bucket"), fence.Claim{Resource: "r", Token: 33}
	for _, err := range []error{failure(guard.Put(t.Context(), c, object("key", "x"))), guard.Raise(t.Context(), c),
		guard.Verify(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "aws s3 mb s3://missing-bucket") {
			t.Errorf("%v, want one that says how to make the bucket", err)
		}
	}
}

// An object that is taken away between reading and putting is written anew.
func TestVanished(t *testing.T) {
	client, key := connect(gateway.Addr), newKey()
	past(t, key, "foreign", nil)
	guard := mustGuard(t, &paused{client, func() {
		must(t, failure(client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key})))
	}}, bucket)
	must(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 33}, object(key, "ours"))))
	wantObject(t, guard, key, "ours")
}

// A write that is always overtaken ends with its context, and says that nothing was written.
func TestOvertaken(t *testing.T) {
	key := newKey()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds := 0
	guard := mustGuard(t, &paused{connect(gateway.Addr), func() {
		if rounds++; rounds == 3 {
			cancel()
		}
		past(t, key, strings.Repeat("x", rounds), nil)
	}}, bucket)
	err := failure(guard.Put(ctx, fence.Claim{Resource: "r", Token: 33}, object(key, "late")))
	if !errors.Is(err, context.Canceled) || errors.Is(err, fence.ErrStale) {
		t.Errorf("%v, want that the context was cancelled", err)
	}
	wantObject(t, mustGuard(t, connect(gateway.Addr), bucket), key, "xxx")
}

// TestModify has the attributes of its input, tells an empty object from none, and bounds what it makes.
func TestModify(t *testing.T) {
	guard, key := mustGuard(t, connect(gateway.Addr), bucket), newKey()
	c := fence.Claim{Resource: "r", Token: 33}
	var seen [][]byte
	modify := func(next []byte) error {
		return guard.Modify(t.Context(), c, &s3.PutObjectInput{Key: &key, ContentType: aws.String("text/x-test")},
			func(old []byte) ([]byte, error) {
				seen = append(seen, old)
				return next, nil
			})
	}
	must(t, modify(nil))
	must(t, modify([]byte("body")))
	must(t, guard.Delete(t.Context(), c, key))
	must(t, modify([]byte("after the tombstone")))
	if len(seen) != 3 || seen[0] != nil || seen[1] == nil || len(seen[1]) > 0 || seen[2] != nil {
		t.Errorf("saw %#v", seen)
	}
	wantInvalid(t, "a body too large", modify(make([]byte, fences3.MaxBody+1)))
	wantInvalid(t, "an input with a body", guard.Modify(t.Context(), c, object(key, "body"), nil))
	out, err := guard.Get(t.Context(), &s3.GetObjectInput{Key: &key})
	must(t, err)
	defer out.Body.Close()
	if got := aws.ToString(out.ContentType); got != "text/x-test" {
		t.Errorf("the type is %s", got)
	}
	wantObject(t, guard, key, "after the tombstone")
}
