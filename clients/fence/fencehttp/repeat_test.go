package fencehttp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
)

// TestRepeatedByTheClient loses the answer to a request that was let through. Before net/http sends it
// again by itself, a higher token raises the mark.
func TestRepeatedByTheClient(t *testing.T) {
	for name, test := range map[string]struct {
		method, header string
		asks           int // how often the handler is asked for, both times included
	}{
		"Idempotency-Key":   {http.MethodPost, "Idempotency-Key", 2},
		"X-Idempotency-Key": {http.MethodPut, "X-Idempotency-Key", 2},
		"read":              {http.MethodGet, "X-Other", 2},
		"none":              {http.MethodPost, "X-Other", 1},
	} {
		t.Run(name, func(t *testing.T) {
			marks, passed := mustOpen(t, t.TempDir()), 0
			asked := 0
			guarded := fencehttp.New(marks, fencehttp.WithGuardedReads())(
				http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					c, _ := fence.FromContext(r.Context())
					if c.Token < 33 {
						return
					}
					passed++
					wantError(t, marks.Raise(r.Context(), claim(34)), nil)
					panic(http.ErrAbortHandler)
				}))
			server := mustServe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Fencing-Token") == token33 {
					asked++
				}
				guarded.ServeHTTP(w, r)
			}))
			send := func(token fence.Token) error {
				r, err := http.NewRequestWithContext(t.Context(), test.method, server.url, strings.NewReader("value"))
				wantError(t, err, nil)
				r.Header.Set(test.header, "one")
				wantError(t, claim(token).SetHeader(r.Header), nil)
				answer, err := server.Do(r)
				if err != nil {
					return errors.Join(fence.ErrUnknown, err)
				}
				defer answer.Body.Close()
				return fencehttp.ResponseError(answer)
			}
			wantError(t, send(1), nil) // only a connection that was used before is given up so lightly
			err := send(33)
			if !errors.Is(err, fence.ErrUnknown) || errors.Is(err, fence.ErrStale) {
				t.Errorf("%v, want one that is ErrUnknown", err)
			}
			if asked != test.asks || passed != 1 {
				t.Errorf("the handler was asked for %d times and called %d times, want %d and once", asked, passed,
					test.asks)
			}
			stale, refused := errors.AsType[*fence.StaleError](err)
			if refused != (test.asks == 2) || refused && (stale.Token != 33 || stale.Highest != 34) {
				t.Errorf("%v has the refusal %v", err, stale)
			}
		})
	}
}
