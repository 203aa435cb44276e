package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// A nil context, connection or option is refused before anything else, and changes nothing.
func TestNilIsRefused(t *testing.T) {
	p := proxy.New(t, url)
	c := newClient(t, p.URL())
	l := mustAcquire(t, c, t.Name())
	var none context.Context
	for name, call := range map[string]func() error{
		"Acquire":       func() error { _, err := c.Acquire(none, t.Name()+"2"); return err },
		"TryAcquire":    func() error { _, err := c.TryAcquire(none, t.Name()+"2"); return err },
		"Do":            func() error { return c.Do(none, t.Name()+"2", nil) },
		"Get":           func() error { _, err := c.Get(none, t.Name()); return err },
		"GetStale":      func() error { _, err := c.GetStale(none, t.Name()); return err },
		"Break":         func() error { return c.Break(none, t.Name(), l.Token(), "") },
		"Confirm":       func() error { return c.Confirm(none, t.Name(), l.Token(), "", "") },
		"Lost":          func() error { return firstError(c.Lost(none, "")) },
		"Info":          func() error { _, err := c.Info(none); return err },
		"List":          func() error { return firstError(c.List(none, "")) },
		"Watch":         func() error { return firstError(c.Watch(none, "")) },
		"WaitFree":      func() error { return c.WaitFree(none, t.Name()) },
		"Extend":        func() error { return l.Extend(none, time.Minute) },
		"Release":       func() error { return l.Release(none) },
		"Close":         func() error { return c.Close(none) },
		"New":           func() error { _, err := holdfast.New(nil); return err },
		"Option":        func() error { _, err := holdfast.New(stand.Dial(t, url), nil); return err },
		"AcquireOption": func() error { _, err := c.Acquire(testContext(t), t.Name()+"2", nil); return err },
		"WatchOption":   func() error { return firstError(c.Watch(testContext(t), "", nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "nil") {
				t.Errorf("got %v, want ErrInvalid that names the nil", err)
			}
		})
	}
	if _, ok := holdfast.TokenFromContext(none); ok {
		t.Error("a nil context has a token")
	}
	if err := holdfast.SetHeader(none, http.Header{}); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("header: got %v, want ErrNotHeld", err)
	}
	if !l.Valid() || p.Count("acquire") != 1 || p.Count("extend")+p.Count("release")+p.Count("break") > 0 {
		t.Errorf("something was asked for; valid: %v", l.Valid())
	}
	mustRelease(t, l)
	if mustGet(t, c, t.Name()).Held {
		t.Error("the lock is still held after its release")
	}
}

// An error shows the value that the caller gave.
func TestErrorsShowTheCallersValue(t *testing.T) {
	c := newClient(t, url)
	ctx := testContext(t)
	l := mustAcquire(t, c, t.Name())
	acquire := func(opts ...holdfast.AcquireOption) error {
		_, err := c.Acquire(ctx, t.Name()+"2", opts...)
		return err
	}
	for want, err := range map[string]error{
		"-1s":           acquire(holdfast.TTL(-time.Second)),
		"1500h0m0s":     acquire(holdfast.TTL(1500 * time.Hour)),
		"99.5ms":        acquire(holdfast.TTL(99500 * time.Microsecond)),
		"-1m0s":         acquire(holdfast.MaxWait(-time.Minute)),
		"-2s":           l.Extend(ctx, -2*time.Second),
		"25h0m0s":       l.Extend(ctx, 25*time.Hour),
		"-3s":           firstError(c.Watch(ctx, "", holdfast.Bookmarks(-3*time.Second))),
		"EventKind(10)": firstError(c.Watch(ctx, "", holdfast.Kinds(10))),
	} {
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "got "+want) {
			t.Errorf("got %v, want ErrInvalid with %q", err, want)
		}
	}
}
