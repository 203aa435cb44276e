package client_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

func value(v string) map[string]string { return map[string]string{"value": v} }

// The metadata of a held lock are replaced, and nothing else of it.
func TestSet(t *testing.T) {
	c := newClient(t, url)
	l := mustAcquire(t, c, t.Name(), long, holdfast.Metadata(value("one")))
	token := l.Token()
	if !maps.Equal(l.Metadata(), value("one")) {
		t.Errorf("the metadata are %v", l.Metadata())
	}
	for _, v := range []string{"two", "two", "three"} {
		if err := l.Set(testContext(t), value(v)); err != nil {
			t.Fatal(err)
		}
		if got := mustGet(t, c, t.Name()).Metadata; !maps.Equal(got, value(v)) || !maps.Equal(l.Metadata(), got) {
			t.Errorf("the service shows %v, and the lock %v", got, l.Metadata())
		}
	}
	if err := l.Set(testContext(t), map[string]string{"": "no key"}); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("a key that is empty: %v", err)
	}
	if l.Token() != token || !l.Valid() {
		t.Errorf("the lock is %v, with token %v before", l, token)
	}
	mustRelease(t, l)
	if err := l.Set(testContext(t), value("four")); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("after the release: %v", err)
	}
}

// A set finds out that the lock is lost, and ends it.
func TestSetOfALostLock(t *testing.T) {
	c := newClient(t, url)
	l := mustAcquire(t, c, t.Name(), long, holdfast.NoRenewal())
	if err := c.Break(testContext(t), t.Name(), l.Token(), "the test says so"); err != nil {
		t.Fatal(err)
	}
	if err := l.Set(testContext(t), value("one")); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v", err)
	}
	if l.Valid() || !errors.Is(context.Cause(l.Context()), holdfast.ErrLost) {
		t.Error("the lock is held on")
	}
}

// Without the secret, the owner's name and token release nothing; clients that share it share locks.
func TestSecret(t *testing.T) {
	own, foreign := newClient(t, url), newClient(t, url)
	me := holdfast.Owner("me")
	l := mustAcquire(t, own, t.Name(), long, me)
	if _, err := foreign.TryAcquire(testContext(t), t.Name(), me, holdfast.Reentrant()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("another client's reentrant request: %v", err)
	}
	mustRelease(t, l)

	secret := []byte(strings.Repeat("s", 32))
	one, two := newClient(t, url, holdfast.Secret(secret)), newClient(t, url, holdfast.Secret(secret))
	first := mustAcquire(t, one, t.Name(), long, me, holdfast.Reentrant())
	second := mustAcquire(t, two, t.Name(), long, me, holdfast.Reentrant())
	if first.Token() != second.Token() {
		t.Errorf("tokens %v and %v", first.Token(), second.Token())
	}
	mustRelease(t, first)

	nc := stand.Dial(t, url)
	for _, wrong := range [][]byte{nil, secret[:15], []byte(strings.Repeat("s", 65))} {
		if _, err := holdfast.New(nc, holdfast.Secret(wrong)); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("a secret of %d bytes: %v", len(wrong), err)
		}
	}
}
