package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// What breaks a rule is refused with the rule and the value that the caller gave, before anything is sent.
func TestInvalid(t *testing.T) {
	p := proxy.New(t, url)
	c, nc := newClient(t, p.URL()), stand.Dial(t, url)
	ctx, name := testContext(t), t.Name()
	l := mustAcquire(t, c, name+".held", long)
	shared := newClient(t, p.URL(), holdfast.Defaults(holdfast.Permits(1, 5)))
	names := make([]string, 1001)
	for i := range names {
		names[i] = fmt.Sprint(name, i)
	}
	var none context.Context
	x := func(n int) string { return strings.Repeat("x", n) }
	acquire := func(resource string, opts ...holdfast.AcquireOption) error {
		_, err := c.Acquire(ctx, resource, opts...)
		return err
	}
	with := func(opts ...holdfast.AcquireOption) error { return acquire(name, opts...) }
	all := func(ctx context.Context, names []string, opts ...holdfast.AcquireOption) error {
		_, err := c.AcquireAll(ctx, names, opts...)
		return err
	}
	campaign := func(opts ...holdfast.AcquireOption) error {
		_, err := c.Campaign(ctx, name, "value", opts...)
		return err
	}
	watch := func(ctx context.Context, opts ...holdfast.WatchOption) error {
		return firstError(c.Watch(ctx, "", opts...))
	}
	option := func(opts ...holdfast.Option) error { return second(holdfast.New(nc, opts...)) }
	for i, test := range []struct {
		err  error
		says string
	}{
		{acquire(""), "resource"}, {acquire(x(513)), "512"}, {acquire("a\nb"), "control"}, {acquire("\xff"), "UTF-8"},
		{with(holdfast.TTL(99500 * time.Microsecond)), "TTL: 100ms to 24h0m0s, got 99.5ms"},
		{with(holdfast.TTL(24*time.Hour + time.Millisecond)), "TTL"}, {with(holdfast.TTL(1 << 62)), "TTL"},
		{with(holdfast.TTL(-time.Second)), "got -1s"}, {with(holdfast.TTL(1500 * time.Hour)), "got 1500h0m0s"},
		{with(holdfast.Owner("")), "Owner"}, {with(holdfast.Owner(x(257))), "Owner"},
		{with(holdfast.MaxWait(-1)), "MaxWait"}, {with(holdfast.MaxWait(-time.Minute)), "got -1m0s"},
		{with(holdfast.Metadata(map[string]string{"k": x(1024)})), "Metadata"},
		{with(holdfast.Delay(time.Hour + time.Millisecond)), "Delay: 0 to 1h0m0s, got 1h0m0.001s"},
		{with(holdfast.Delay(-1)), "Delay: 0 to 1h0m0s, got -1ns"},
		{with(holdfast.Delay(time.Second), holdfast.Ephemeral()), "Ephemeral: PERSISTENT, since delay_ms"},
		{with(holdfast.ConfirmLoss(), holdfast.Ephemeral()), "Ephemeral: PERSISTENT, since"},
		{with(holdfast.Permits(0, 5)), "the number of Permits: 1 to 1000, got 0"},
		{with(holdfast.Permits(-1, 5)), "the number of Permits: 1 to 1000, got -1"},
		{with(holdfast.Permits(1001, 2000)), "the number of Permits: 1 to 1000, got 1001"},
		{with(holdfast.Permits(1, 0)), "the limit of Permits: 1 to 4294967295, got 0"},
		{with(holdfast.Permits(1, -7)), "the limit of Permits: 1 to 4294967295, got -7"},
		{with(holdfast.Permits(1, 1<<32)), "the limit of Permits: 1 to 4294967295, got 4294967296"},
		{with(holdfast.Permits(6, 5)), "the number of Permits: at most 5"},
		{with(holdfast.Permits(2, 1)), "the number of Permits: at most 1"},
		{second(shared.TryAcquire(ctx, name, holdfast.Shared(), holdfast.Permits(1, 5))), "Shared and Permits: one of"},
		{with(nil), "nil"}, {second(c.Acquire(none, name)), "nil"}, {second(c.TryAcquire(none, name)), "nil"},
		{second(c.TryAcquire(ctx, "")), "resource"},
		{c.Do(ctx, "", noWork), "resource"}, {c.Do(none, name, nil), "nil"}, {c.Do(ctx, name, nil), "work: not nil"},

		{all(ctx, nil), "1 to 1000 names, got 0"}, {all(ctx, names), "1 to 1000 names, got 1001"},
		{all(ctx, []string{"a", ""}), "1 to 512 bytes"}, {all(none, names[:1]), "context"},
		{all(ctx, names[:2], holdfast.TTL(0)), "TTL"}, {all(ctx, names[:2], holdfast.MaxWait(-1)), "MaxWait"},
		{all(ctx, names[:2], nil), "option"}, {c.DoAll(ctx, names[:1], nil), "work: not nil: the"},

		{second(c.Get(ctx, "")), "resource"}, {second(c.Get(none, name)), "nil"}, {second(c.Get(ctx, name, nil)), "nil"},
		{second(c.GetStale(ctx, "")), "resource"}, {second(c.GetStale(none, name)), "nil"},
		{c.WaitFree(ctx, ""), "resource"}, {c.WaitFree(none, name), "nil"}, {second(c.Info(none)), "nil"},
		{firstError(c.List(ctx, "a b")), "pattern"}, {firstError(c.List(none, "")), "nil"},
		{firstError(c.Lost(none, "")), "nil"},
		{c.Break(ctx, name, 1, x(513)), "reason"}, {c.Break(none, name, 1, ""), "nil"},
		{c.Confirm(none, name, 1, "", ""), "nil"}, {c.Confirm(ctx, name, 0, "", ""), "token: 1 to"},
		{c.Confirm(ctx, name, 1, x(257), ""), "by: at most 256 bytes"},
		{c.Confirm(ctx, name, 1, "", x(513)), "how: at most 512 bytes"},

		{l.Extend(none, time.Minute), "nil"}, {l.Extend(ctx, -2*time.Second), "got -2s"}, {l.Extend(ctx, 0), "TTL"},
		{l.Extend(ctx, 25*time.Hour), "got 25h0m0s"}, {l.Release(none), "nil"},
		{l.Set(ctx, map[string]string{"": "no key"}), "metadata"},
		{second(l.SlotClaim(0)), "slot"},

		{watch(none), "nil"}, {watch(ctx, nil), "nil"}, {watch(ctx, holdfast.Bookmarks(-3*time.Second)), "got -3s"},
		{watch(ctx, holdfast.Kinds(10)), "got EventKind(10)"},

		{campaign(holdfast.Shared()), "there is one leader"}, {campaign(holdfast.Ephemeral()), "read the journal"},
		{campaign(holdfast.Reentrant()), "one lease"},
		{campaign(holdfast.Metadata(map[string]string{"large": x(1020)})), "Metadata"},
		{firstError(c.Observe(ctx, "")), "1 to"},

		{c.Close(none), "nil"}, {second(holdfast.New(nil)), "nil"}, {option(nil), "nil"},
		{option(holdfast.Prefix("a b")), ""}, {option(holdfast.Timeout(0)), ""}, {option(holdfast.Timeout(-1)), ""},
		{option(holdfast.Secret(nil)), ""}, {option(holdfast.Secret(make([]byte, 15))), ""},
		{option(holdfast.Secret(make([]byte, 65))), ""},
		{option(holdfast.ReleaseOnDisconnect(0)), ""}, {option(holdfast.ReleaseOnDisconnect(4999 * time.Millisecond)), ""},
		{option(holdfast.ReleaseOnDisconnect(24*time.Hour + 1)), ""},
		{option(holdfast.ReleaseOnDisconnect(time.Minute), holdfast.PerLockRenewal()), ""},
	} {
		var e *holdfast.Error // its cause can be ErrInvalid too, and is not enough
		if !errors.Is(test.err, holdfast.ErrInvalid) || errors.As(test.err, &e) && !errors.Is(e.Err, holdfast.ErrInvalid) ||
			!strings.Contains(test.err.Error(), test.says) || strings.Count(test.err.Error(), "invalid") > 1 {
			t.Errorf("mistake %d: got %v, want ErrInvalid, once, and %q", i, test.err, test.says)
		}
	}
	if _, ok := holdfast.TokenFromContext(none); ok {
		t.Error("a nil context has a token")
	}
	if err := holdfast.SetHeader(none, http.Header{}); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("header: got %v, want ErrNotHeld", err)
	}
	for _, op := range []string{"get", "break", "list", "confirm", "extend", "release", "set"} {
		if n := p.Count(op); n > 0 {
			t.Errorf("%d requests to %s were sent", n, op)
		}
	}
	if n := p.Count("acquire"); n != 1 || !l.Valid() {
		t.Errorf("%d acquires were sent, want that of the lock, which is valid: %v", n, l.Valid())
	}
	mustRelease(t, mustAcquire(t, shared, name, holdfast.Shared())) // in the place of the default
	s := mustAcquireAll(t, c, names[:1000])
	if err := s.Release(testContext(t)); err != nil || len(s.All()) != 1000 {
		t.Errorf("released %d: %v", len(s.All()), err)
	}
}

// second returns the error that a call returns behind a value.
func second[T any](_ T, err error) error { return err }

// A shared lock beside others is not downgraded, and its name may be too long for claims to its slots.
func TestInvalidSlots(t *testing.T) {
	c := newClient(t, url)
	plain := mustAcquire(t, c, t.Name(), holdfast.Permits(-1, -1), holdfast.Permits(1, 1))
	if plain.Slots() != nil {
		t.Errorf("an exclusive lock has the slots %v", plain.Slots())
	}
	name := strings.Repeat("a", 511)
	tight, beside := mustAcquire(t, c, name, holdfast.Permits(1, 2)), mustAcquire(t, c, name, holdfast.Permits(1, 2))
	for _, i := range []int{-1, 0, 1} {
		if claim, err := tight.SlotClaim(i); !errors.Is(err, holdfast.ErrInvalid) || claim != (holdfast.Claim{}) {
			t.Errorf("slot %d: got %v, %v", i, claim, err)
		}
	}
	if err := tight.Downgrade(testContext(t)); !errors.Is(err, holdfast.ErrInvalid) ||
		!strings.Contains(err.Error(), "held alone") || !tight.Valid() {
		t.Errorf("downgraded beside another: %v", err)
	}
	wantHolders(t, c, name, tight, beside)
	mustRelease(t, plain)
	if err := plain.Downgrade(testContext(t)); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("after the release: %v", err)
	}
}
