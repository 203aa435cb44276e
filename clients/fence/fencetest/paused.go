package fencetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// modify replaces the value of the claim's resource by what f makes of it.
type modify func(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error

// paused pauses a holder between its read and its write until the next holder has read. The late write comes before the
// write of the next holder, or after it. No acknowledged change may be lost.
func paused(t *testing.T, s Subject) {
	t.Helper()
	for name, run := range map[string]func(context.Context, modify, *register) error{
		"LateWriteFirst": func(ctx context.Context, m modify, r *register) error { return overlap(ctx, m, r, 0, 1) },
		"LateWriteLast":  func(ctx context.Context, m modify, r *register) error { return overlap(ctx, m, r, 1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, s, fence.Repeatable)
			m, err := s.modify(t, r)
			if err != nil {
				t.Fatal(err)
			}
			if s.Exclusive {
				run = exclude
			}
			r.accepts(33, "-") // a holder that has written before its read has raised the mark to its own token
			if err := run(t.Context(), m, r); err != nil {
				t.Error(err)
			}
		})
	}
}

// modify returns the guard's own way to modify a value, or to raise the mark before the read.
func (s Subject) modify(tb testing.TB, r *register) (modify, error) {
	tb.Helper()
	if own, ok := r.Register.(Modifier); ok {
		return own.Modify, nil
	}
	if s.Marks == nil || s.Apart {
		return nil, errors.New(
			"this guard raises a mark only with a write, and its register is no Modifier: a holder cannot read safely")
	}
	return raiseFirst(s.Marks(tb, fence.Repeatable), r), nil
}

// raiseFirst raises the mark before it reads.
func raiseFirst(m fence.Marks, r Register) modify {
	return func(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
		if err := m.Raise(ctx, c); err != nil {
			return err
		}
		return readThenWrite(r)(ctx, c, f)
	}
}

// readThenWrite reads without the guard. By itself it loses changes.
func readThenWrite(r Register) modify {
	return func(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
		old, err := r.Read(ctx, c.Resource)
		if err != nil {
			return err
		}
		value, err := f(old)
		if err != nil {
			return err
		}
		return r.Write(ctx, c, value)
	}
}

// holder appends a sign to a value, and waits between its first read and its write.
type holder struct {
	sign   string
	read   chan struct{} // closed after the first read
	resume chan struct{}
	done   chan error
}

func start(ctx context.Context, m modify, c fence.Claim, sign string) *holder {
	h := &holder{sign: sign, read: make(chan struct{}), resume: make(chan struct{}), done: make(chan error, 1)}
	again := false
	go func() {
		h.done <- m(ctx, c, func(old string) (string, error) {
			if !again {
				again = true
				close(h.read)
				<-h.resume
			}
			return old + sign, nil
		})
	}()
	return h
}

// hasRead waits for the first read.
func (h *holder) hasRead() error {
	select {
	case <-h.read:
		return nil
	case err := <-h.done:
		return fmt.Errorf("%q has ended before it has read: %w", h.sign, err)
	}
}

// write lets the holder write, and returns its sign if the change was acknowledged.
func (h *holder) write() (acknowledged string, err error) {
	close(h.resume)
	switch err := <-h.done; {
	case err == nil:
		return h.sign, nil
	case errors.Is(err, fence.ErrStale):
		return "", nil
	default:
		return "", fmt.Errorf("%q: %w, want none or ErrStale", h.sign, err)
	}
}

// overlap has two holders read one after the other, and lets them write in this order.
func overlap(ctx context.Context, m modify, r *register, order ...int) error {
	holders := []*holder{start(ctx, m, r.claim(33), "late"), nil}
	if err := holders[0].hasRead(); err != nil {
		return err
	}
	holders[1] = start(ctx, m, r.claim(34), "next")
	if err := holders[1].hasRead(); err != nil {
		close(holders[0].resume)
		return err
	}
	var acknowledged [2]string
	for _, i := range order {
		var err error
		if acknowledged[i], err = holders[i].write(); err != nil {
			return err
		}
	}
	if acknowledged[1] == "" {
		return errors.New("the present holder was refused")
	}
	return r.has(ctx, acknowledged[0], acknowledged[1])
}

// has reports whether the value has each acknowledged change once, and no other.
func (r *register) has(ctx context.Context, late, next string) error {
	value, err := r.Read(ctx, r.resource)
	if err != nil {
		return err
	}
	if value != "-"+late+next && value != "-"+next+late {
		return fmt.Errorf("acknowledged were %q and %q, and the value is %q", late, next, value)
	}
	return nil
}

// exclusion is how long the next holder tries while another one is between its read and its write.
const exclusion = 200 * time.Millisecond

// exclude has the next holder wait, to the end of its context, for one that is between its read and its write.
func exclude(ctx context.Context, m modify, r *register) error {
	late := start(ctx, m, r.claim(33), "late")
	if err := late.hasRead(); err != nil {
		return err
	}
	next := func(ctx context.Context) error {
		return m(ctx, r.claim(34), func(old string) (string, error) { return old + "next", nil })
	}
	brief, cancel := context.WithTimeout(ctx, exclusion)
	defer cancel()
	if err := next(brief); err == nil || errors.Is(err, fence.ErrStale) || brief.Err() == nil {
		close(late.resume)
		return errors.Join(errors.New(
			"no error at the end of the context while another holder was between its read and its write"), err)
	}
	acknowledged, err := late.write()
	if err != nil {
		return err
	}
	if err := next(ctx); err != nil {
		return err
	}
	return r.has(ctx, acknowledged, "next")
}

// modifies checks a guard's own way to modify a value: its errors, and what it does after a conflict.
func modifies(t *testing.T, s Subject) {
	t.Helper()
	r := begin(t, s, fence.Repeatable)
	own, ok := r.Register.(Modifier)
	if !ok {
		t.Skip("this guard raises the mark before the read")
	}
	add := func(sign string) func(string) (string, error) {
		return func(old string) (string, error) { return old + sign, nil }
	}
	failure := errors.New("a failure of the caller")
	if err := own.Modify(t.Context(), r.claim(33), func(string) (string, error) { return "lost", failure }); !errors.Is(err, failure) {
		t.Errorf("the caller fails: %v", err)
	}
	r.reads("")
	for _, sign := range []string{"a", "b"} {
		if err := own.Modify(t.Context(), r.claim(33), add(sign)); err != nil {
			t.Fatal(err)
		}
	}
	r.reads("ab")
	wantStale(t, own.Modify(t.Context(), r.claim(32), add("lost")), 32, 33)
	if err := own.Modify(t.Context(), r.claim(0), add("lost")); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("no token: %v", err)
	}
	r.reads("ab")
	modifiesOnce(t, s)
}

// modifiesOnce checks that a conflict does not spend a token.
func modifiesOnce(t *testing.T, s Subject) {
	t.Helper()
	r := begin(t, s, fence.Once)
	own, _ := r.Register.(Modifier)
	calls := 0
	err := own.Modify(t.Context(), r.claim(34), func(old string) (string, error) {
		if calls++; calls == 1 && !s.Exclusive {
			r.accepts(33, "of an earlier holder,")
		}
		return old + "next", nil
	})
	switch {
	case errors.Is(err, fence.ErrInvalid): // the guard says that it cannot
		return
	case err != nil:
		t.Fatal(err)
	case s.Exclusive:
		r.reads("next")
	default:
		r.reads("of an earlier holder,next")
	}
	wantStale(t, own.Modify(t.Context(), r.claim(34), func(string) (string, error) { return "lost", nil }), 34, 34)
}
