package fences3_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// The SDK repeats what was throttled, and nothing whose outcome is unknown. The gateway gives no such
// answers, so they come from a server that has no object and takes none.
func TestRepetition(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		code    string
		repeats bool
	}{
		"Throttled": {http.StatusServiceUnavailable, "SlowDown", true},
		"Broken":    {http.StatusInternalServerError, "InternalError", false},
	} {
		t.Run(name, func(t *testing.T) {
			var puts atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					answer(w, http.StatusNotFound, "NoSuchKey")
					return
				}
				puts.Add(1)
				answer(w, test.status, test.code)
			}))
			defer server.Close()
			client := s3.New(connect(strings.TrimPrefix(server.URL, "http://")).Options(), func(o *s3.Options) {
				o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
			})
			err := failure(mustGuard(t, client, bucket).Put(t.Context(), fence.Claim{Resource: "r", Token: 33},
				object("key", "x")))
			if err == nil || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), test.code) {
				t.Errorf("%v, want the error of the store", err)
			}
			if got := puts.Load() > 1; got != test.repeats {
				t.Errorf("sent %d times", puts.Load())
			}
		})
	}
}

func answer(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code></Error>")
}

// A body that breaks off within the stamp is not taken for whole.
func TestTornBody(t *testing.T) {
	client, key := connect(gateway.Addr), newKey()
	guard := mustGuard(t, torn{client}, bucket)
	must(t, failure(guard.Put(t.Context(), fence.Claim{Resource: "r", Token: 33}, object(key, "body"))))
	if got, err := read(t.Context(), guard, key); !errors.Is(err, errTorn) {
		t.Errorf("read %q, %v", got, err)
	}
}

var errTorn = errors.New("the connection broke")

// torn breaks connections within the last ten bytes of an object.
type torn struct{ *s3.Client }

func (c torn) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput,
	error) {
	out, err := c.Client.GetObject(ctx, in, opts...)
	if err == nil && in.Range == nil {
		out.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(out.Body, *out.ContentLength-10), iotest.ErrReader(errTorn)), out.Body}
	}
	return out, err
}
