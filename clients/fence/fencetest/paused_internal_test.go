package fencetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// TestPausedHolderIsJudged tries ways to modify a value that lose changes, and one that does not.
func TestPausedHolderIsJudged(t *testing.T) {
	lateFirst := func(ctx context.Context, m modify, r *register) error { return overlap(ctx, m, r, 0, 1) }
	lateLast := func(ctx context.Context, m modify, r *register) error { return overlap(ctx, m, r, 1, 0) }
	for name, test := range map[string]struct {
		run  func(context.Context, modify, *register) error
		way  func(*plain) modify
		want string // in the error; empty: none
	}{
		"raise first, late write first": {lateFirst, func(p *plain) modify { return raiseFirst(p, p) }, ""},
		"raise first, late write last":  {lateLast, func(p *plain) modify { return raiseFirst(p, p) }, ""},
		"no raise, late write first": {lateFirst, func(p *plain) modify { return readThenWrite(p) },
			`the value is "-next"`},
		// the lucky order
		"no raise, late write last": {lateLast, func(p *plain) modify { return readThenWrite(p) }, ""},
		"not exclusive": {exclude, func(p *plain) modify { return raiseFirst(p, p) },
			"while another holder"},
		"refused present holder": {lateFirst, func(*plain) modify {
			return func(_ context.Context, c fence.Claim, f func(string) (string, error)) error {
				_, _ = f("")
				return fence.Refused(c, 35)
			}
		}, "the present holder was refused"},
		"ended before it has read": {lateFirst, func(*plain) modify {
			return func(context.Context, fence.Claim, func(string) (string, error)) error { return errors.New("lost") }
		}, "before it has read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plain{value: "-"}
			err := test.run(t.Context(), test.way(p), &register{TB: t, Register: p, resource: "r"})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want one with %q", err, test.want)
			}
		})
	}
}

// plain is a guarded value in memory.
type plain struct {
	mu    sync.Mutex
	mark  fence.Token
	value string
}

func (p *plain) Raise(_ context.Context, c fence.Claim) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := fence.Repeatable.Check(c, p.mark); err != nil {
		return err
	}
	p.mark = c.Token
	return nil
}

func (p *plain) Write(ctx context.Context, c fence.Claim, value string) error {
	if err := p.Raise(ctx, c); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value = value
	return nil
}

func (p *plain) Read(context.Context, string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.value, nil
}
