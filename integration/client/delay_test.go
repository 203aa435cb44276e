package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

func mustBreak(tb testing.TB, c *holdfast.Client, resource string, token holdfast.Token) {
	tb.Helper()
	stand.Must(tb, c.Break(testContext(tb), resource, token, "it hangs"))
}

func mustConfirm(tb testing.TB, c *holdfast.Client, resource string, token holdfast.Token) {
	tb.Helper()
	stand.Must(tb, c.Confirm(testContext(tb), resource, token, "agent", "killed"))
}

// wantLoss checks that an error says what holds the resource back, and for how long.
func wantLoss(tb testing.TB, err error, owner string, token holdfast.Token, least, most time.Duration) {
	tb.Helper()
	var e *holdfast.Error
	if !errors.Is(err, holdfast.ErrHeld) || !errors.As(err, &e) || e.Lost == nil {
		tb.Fatalf("got %v, want ErrHeld with a loss", err)
	}
	if e.Lost.Owner != owner || e.Lost.Token != token || e.Lost.Left < least || e.Lost.Left > most ||
		e.Lost.Remaining != 0 {
		tb.Errorf("got %+v", e.Lost)
	}
}

// A lock whose loss has to be confirmed goes to the next one when it is.
func TestConfirmLoss(t *testing.T) {
	t.Parallel()
	c := newClient(t, newService(t).URL())
	w := watch(t, c, "r")
	l := mustAcquire(t, c, "r", holdfast.Owner("a"), holdfast.ConfirmLoss(), long)
	if err := c.Confirm(testContext(t), "r", l.Token(), "agent", ""); !errors.Is(err, holdfast.ErrStaleToken) {
		t.Errorf("while it is held: %v", err)
	}
	mustBreak(t, c, "r", l.Token())
	await(t, "the lock is lost", l.Lost())
	for _, owner := range []string{"a", "b"} {
		_, err := c.TryAcquire(testContext(t), "r", holdfast.Owner(owner))
		wantLoss(t, err, "a", 1, 0, 0)
		if !strings.Contains(err.Error(),
			`held (held back after the lease of "a", token 000000000000001, until the loss is confirmed)`) {
			t.Errorf("got %v", err)
		}
	}
	if s := mustGet(t, c, "r"); s.Held || s.Lost == nil || s.Lost.Owner != "a" || s.Resource != "r" ||
		s.Holders != nil || s.Permits != 0 {
		t.Errorf("got %+v", s)
	}
	next := make(chan error, 1)
	go func() {
		_, err := c.Acquire(testContext(t), "r", holdfast.Owner("b"), long)
		next <- err
	}()
	stand.Eventually(t, "the next one waits", func() bool { return mustGet(t, c, "r").Waiting == 1 })
	if err := c.Confirm(testContext(t), "r", 2, "agent", ""); !errors.Is(err, holdfast.ErrStaleToken) {
		t.Errorf("with another token: %v", err)
	}
	mustConfirm(t, c, "r", 1)
	stand.Must(t, <-next)
	w.want(holdfast.EventAcquired, "r", 1)
	if e := w.want(holdfast.EventBroken, "r", 1); !e.HeldBack || !e.Kind.Ends() {
		t.Errorf("%+v", e)
	}
	if e := w.want(holdfast.EventConfirmed, "r", 1); e.HeldBack || e.Kind.Ends() || e.Reason != "agent: killed" || e.Held() != 0 || e.Kind.String() != "CONFIRMED" {
		t.Errorf("%+v", e)
	}
	w.want(holdfast.EventAcquired, "r", 2)
	if err := c.Confirm(testContext(t), "s", 1, "agent", ""); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("of a free resource: %v", err)
	}
}

// The owner of a lost lease takes the lock back before its delay is over, and nobody else does.
func TestDelay(t *testing.T) {
	t.Parallel()
	c := newClient(t, newService(t).URL())
	mustAcquire(t, c, "r", holdfast.Owner("a"), holdfast.Delay(time.Hour), long)
	mustBreak(t, c, "r", 1)
	_, err := c.TryAcquire(testContext(t), "r", holdfast.Owner("b"))
	wantLoss(t, err, "a", 1, 59*time.Minute, time.Hour)
	if l := mustAcquire(t, c, "r", holdfast.Owner("a"), long); l.Token() != 2 {
		t.Errorf("taken back under %v", l.Token())
	}
	if s := mustGet(t, c, "r"); !s.Held || s.Lost != nil {
		t.Errorf("got %+v", s)
	}
}

// A delay is over by itself: what waits for it is granted, and a wait for the lock to be free ends.
func TestDelayEnds(t *testing.T) {
	t.Parallel()
	c := newClient(t, newService(t).URL())
	mustAcquire(t, c, "r", holdfast.Owner("a"), holdfast.Delay(200*time.Millisecond), long)
	mustBreak(t, c, "r", 1)
	stand.Must(t, c.WaitFree(testContext(t), "r"))
	if s := mustGet(t, c, "r"); s.Held || s.Lost != nil || s.Token != 1 {
		t.Errorf("got %+v", s)
	}
	mustAcquire(t, c, "r", holdfast.Owner("b"), holdfast.ConfirmLoss(), long)
	mustBreak(t, c, "r", 2)
	confirmed := make(chan error, 1)
	go func() { confirmed <- c.WaitFree(testContext(t), "r") }()
	mustConfirm(t, c, "r", 2)
	stand.Must(t, <-confirmed)
}

// A holder beside a lost lease keeps its lock, and is shown with the loss.
func TestHeldBesideALoss(t *testing.T) {
	t.Parallel()
	c := newClient(t, newService(t).URL())
	lost := mustAcquire(t, c, "r", holdfast.Owner("a"), holdfast.Permits(1, 3), holdfast.ConfirmLoss(), long)
	kept := mustAcquire(t, c, "r", holdfast.Owner("b"), holdfast.Permits(1, 3), long)
	mustBreak(t, c, "r", 1)
	await(t, "the lock is lost", lost.Lost())
	s := mustGet(t, c, "r")
	if !s.Held || s.Lost == nil || s.Lost.Token != 1 || s.Permits != 1 || len(s.Holders) != 1 || s.Owner != "b" ||
		s.Token != 2 {
		t.Errorf("got %+v", s)
	}
	_, err := c.TryAcquire(testContext(t), "r", holdfast.Owner("c"), holdfast.Permits(1, 3))
	wantLoss(t, err, "a", 1, 0, 0)
	if err := kept.Downgrade(testContext(t)); !errors.Is(err, holdfast.ErrInvalid) ||
		!strings.Contains(err.Error(), "while a lost lease holds the resource back") {
		t.Errorf("downgraded beside a loss: %v", err)
	}
	if err := kept.Extend(testContext(t), time.Hour); err != nil || !kept.Valid() {
		t.Errorf("extend: %v; valid: %v", err, kept.Valid())
	}
	mustBreak(t, c, "r", 2) // its own loss is felt, too
	await(t, "the other lock is lost", kept.Lost())
}

func TestLostLeases(t *testing.T) {
	t.Parallel()
	c := newClient(t, newService(t).URL())
	var want []string
	for i := range 20 {
		name := fmt.Sprint("orders.", i)
		opts := []holdfast.AcquireOption{holdfast.Delay(time.Hour), long}
		if i%2 == 0 {
			opts = append(opts[1:], holdfast.ConfirmLoss())
		}
		mustAcquire(t, c, name, opts...)
		mustAcquire(t, c, "held"+name, opts...)
		mustBreak(t, c, name, 1)
		want = append(want, name)
	}
	mustAcquire(t, c, "people.1", holdfast.ConfirmLoss(), long)
	mustBreak(t, c, "people.1", 1)
	var got []string
	for l, err := range c.Lost(testContext(t), "orders.*") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l.Resource)
		confirmed := mustIndex(t, l.Resource)%2 == 0
		if delayed := l.Left > 59*time.Minute && l.Left <= time.Hour; l.Token != 1 || l.Remaining != 0 || delayed == confirmed || confirmed != (l.Left == 0) {
			t.Errorf("%+v", l)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("lost are %v, want %v", got, want)
	}
}

// mustIndex returns the number in a name like orders.7.
func mustIndex(tb testing.TB, name string) int {
	tb.Helper()
	return stand.Value(strconv.Atoi(strings.TrimPrefix(name, "orders.")))(tb)
}
