package fencehttp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
)

const (
	token34 = "000000000000034"
	token33 = "000000000000033"
)

// endpoint is a guarded handler that has seen token 34 of orders.42.
type endpoint struct {
	handler http.Handler
	called  int
	claims  []fence.Claim
	refused []error
}

func mustGuard(t *testing.T, opts ...fencehttp.Option) *endpoint {
	t.Helper()
	marks := mustOpen(t, t.TempDir())
	wantError(t, marks.Raise(t.Context(), claim(34)), nil)
	return newEndpoint(marks, opts...)
}

func newEndpoint(marks fence.Marks, opts ...fencehttp.Option) *endpoint {
	e := &endpoint{}
	opts = append(opts, fencehttp.OnRefused(func(_ *http.Request, err error) { e.refused = append(e.refused, err) }))
	e.handler = fencehttp.New(marks, opts...)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		e.called++
		if c, ok := fence.FromContext(r.Context()); ok {
			e.claims = append(e.claims, c)
		}
	}))
	return e
}

func (e *endpoint) send(t *testing.T, method string, h http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/orders/42", nil)
	r.Header = h
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	return w.Result()
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// TestAnswers is what clients get for their headers, under every option.
func TestAnswers(t *testing.T) {
	const token, resource = "Fencing-Token", "Fencing-Resource"
	byPath := fencehttp.WithResource(func(r *http.Request) (string, error) {
		return strings.ReplaceAll(strings.TrimPrefix(r.URL.Path, "/"), "/", "."), nil
	})
	noSuch := fencehttp.WithResource(func(*http.Request) (string, error) { return "", errors.New("no such order") })
	for name, test := range map[string]struct {
		option fencehttp.Option
		method string
		header http.Header
		want   int
	}{
		"passes":                {nil, "PUT", header(token, token34, resource, "orders.42"), 200},
		"raises":                {nil, "POST", header(token, "000000000000035", resource, "orders.42"), 200},
		"of another resource":   {nil, "PATCH", header(token, token33, resource, "orders.43"), 200},
		"stale":                 {nil, "DELETE", header(token, token33, resource, "orders.42"), 409},
		"stale, unknown method": {nil, "FROB", header(token, token33, resource, "orders.42"), 409},
		"none":                  {nil, "PUT", nil, 428},
		"malformed":             {nil, "PUT", header(token, "34", resource, "orders.42"), 400},
		"resource alone":        {nil, "PUT", header(resource, "orders.42"), 400},
		"token alone":           {nil, "PUT", header(token, token34), 400},
		"two tokens":            {nil, "PUT", header(token, token34, token, token34, resource, "orders.42"), 400},
		"GET":                   {nil, "GET", header(token, token33, resource, "orders.42"), 200},
		"HEAD":                  {nil, "HEAD", nil, 200},
		"OPTIONS":               {nil, "OPTIONS", nil, 200},
		"TRACE":                 {nil, "TRACE", nil, 200},
		"guarded GET, stale": {fencehttp.WithGuardedReads(), "GET",
			header(token, token33, resource, "orders.42"), 409},
		"guarded GET, none": {fencehttp.WithGuardedReads(), "GET", nil, 428},
		"optional, none":    {fencehttp.WithOptionalClaims(), "PUT", nil, 200},
		"optional, stale": {fencehttp.WithOptionalClaims(), "PUT",
			header(token, token33, resource, "orders.42"), 409},
		"optional, malformed":       {fencehttp.WithOptionalClaims(), "PUT", header(token, "34"), 400},
		"by path":                   {byPath, "PUT", header(token, token34), 200},
		"by path and header":        {byPath, "PUT", header(token, token34, resource, "orders.42"), 200},
		"by path, stale":            {byPath, "PUT", header(token, token33), 409},
		"by path, none":             {byPath, "PUT", nil, 428},
		"by path, header elsewhere": {byPath, "PUT", header(token, token34, resource, "orders.43"), 400},
		"no resource by path":       {noSuch, "PUT", header(token, token34), 400},
	} {
		t.Run(name, func(t *testing.T) {
			var opts []fencehttp.Option
			if test.option != nil {
				opts = append(opts, test.option)
			}
			e := mustGuard(t, opts...)
			answer := e.send(t, test.method, test.header)
			defer answer.Body.Close()
			if answer.StatusCode != test.want {
				t.Errorf("status %d, want %d", answer.StatusCode, test.want)
			}
			passes := test.want == http.StatusOK
			if (e.called == 1) != passes || (len(e.refused) == 1) == passes ||
				(fencehttp.ResponseError(answer) == nil) != passes {
				t.Errorf("the handler was called %d times, refused were %v", e.called, e.refused)
			}
		})
	}
}

// TestClaimInContext is there if it was checked, and only then.
func TestClaimInContext(t *testing.T) {
	e := mustGuard(t)
	h := header("Fencing-Token", token34, "Fencing-Resource", "orders.42")
	e.send(t, "PUT", h).Body.Close()
	e.send(t, "GET", h).Body.Close()
	if e.called != 2 || len(e.claims) != 1 || e.claims[0] != claim(34) {
		t.Errorf("%d calls found claims %v", e.called, e.claims)
	}
}

// TestMarksFail has marks that cannot be reached: the handler is not called, and only the log learns why.
func TestMarksFail(t *testing.T) {
	marks := mustOpen(t, t.TempDir())
	wantError(t, marks.Close(), nil)
	e := newEndpoint(marks)
	answer := e.send(t, "PUT", header("Fencing-Token", token34, "Fencing-Resource", "orders.42"))
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	wantError(t, err, nil)
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" || e.called != 0 {
		t.Errorf("%s, retry after %q, %d calls", answer.Status, answer.Header.Get("Retry-After"), e.called)
	}
	if strings.Contains(string(body), "closed") {
		t.Errorf("the client is shown %s", body)
	}
	if len(e.refused) != 1 || !errors.Is(e.refused[0], os.ErrClosed) {
		t.Errorf("the log learns %v", e.refused)
	}
}

// TestPausedHandler shows what the middleware cannot do and the store's guard does: the handler of 33
// has been let through and is paused, then that of 34 writes.
func TestPausedHandler(t *testing.T) {
	dir := t.TempDir()
	store := mustOpen(t, dir)
	inside, goOn := make(chan struct{}), make(chan struct{})
	next := &orders{dir, store}
	c := mustServe(t, fencehttp.New(store)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if held, _ := fence.FromContext(r.Context()); held.Token == 33 {
			close(inside)
			<-goOn
		}
		next.ServeHTTP(w, r)
	})))
	late := make(chan error, 1)
	go func() { late <- c.Write(t.Context(), claim(33), "late") }()
	<-inside
	wantError(t, c.Write(t.Context(), claim(34), "shipped"), nil)
	close(goOn)
	wantError(t, <-late, fence.ErrStale)
	if value, err := c.Read(t.Context(), "orders.42"); value != "shipped" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
}
