package fencehttp_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
)

// orders is a handler as it should be: it passes the claim on to the guard of its store.
type orders struct {
	dir   string
	store *fencefile.Dir
}

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		http.ServeFile(w, r, filepath.Join(o.dir, fileOf(r.URL.Query().Get("resource"))))
		return
	}
	value, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c, _ := fence.FromContext(r.Context())
	if err := o.store.Write(r.Context(), c, fileOf(c.Resource), value, 0o644); err != nil {
		fencehttp.Error(w, err)
	}
}

// fileOf is a name for any resource.
func fileOf(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	return hex.EncodeToString(sum[:])
}

func mustOpen(tb testing.TB, dir string, opts ...fencefile.Option) *fencefile.Dir {
	tb.Helper()
	d, err := fencefile.Open(dir, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d
}

// client sends claims to a server.
type client struct {
	*http.Client
	url string
}

// mustServe starts a server that ends with the test.
func mustServe(tb testing.TB, h http.Handler) client {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return client{s.Client(), s.URL}
}

// through returns a client of the same server with the defaults of net/http.
func (c client) through(tb testing.TB, via func(string) string) client {
	tb.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	tb.Cleanup(transport.CloseIdleConnections)
	return client{&http.Client{Transport: transport}, "http://" + via(strings.TrimPrefix(c.url, "http://"))}
}

// Write sends the value with the claim, as any client does.
func (c client) Write(ctx context.Context, claim fence.Claim, value string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.url, strings.NewReader(value))
	if err != nil {
		return err
	}
	if err := claim.SetHeader(r.Header); err != nil {
		return err
	}
	answer, err := c.Do(r)
	if err != nil {
		return errors.Join(fence.ErrUnknown, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if err := fencehttp.ResponseError(answer); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// Read returns the value of the resource, empty if there is none.
func (c client) Read(ctx context.Context, resource string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return "", err
	}
	q := r.URL.Query()
	q.Set("resource", resource)
	r.URL.RawQuery = q.Encode()
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	case http.StatusNotFound:
		return "", nil
	}
	return "", fmt.Errorf("reading: %s", answer.Status)
}

func claim(token fence.Token) fence.Claim {
	return fence.Claim{Resource: "orders.42", Token: token}
}

func wantError(tb testing.TB, err, kind error) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Errorf("error %v, want %v", err, kind)
	}
}

// exampleStore opens a guarded directory.
func exampleStore() (store *fencefile.Dir, remove func(), err error) {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		return nil, nil, err
	}
	store, err = fencefile.Open(dir)
	return store, func() { _ = os.RemoveAll(dir) }, err
}
