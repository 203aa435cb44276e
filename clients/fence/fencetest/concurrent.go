package fencetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
)

const (
	writers       = 64
	writesOfEach  = 4
	highestToken  = 40 // so few that tokens are shared, and most are refused at some time
	readers       = 4
	separatorByte = " "
)

// write is one accepted write, between two moments of the test's monotonic clock.
type write struct {
	token      fence.Token
	begun, end time.Duration
}

// concurrent lets many writers with random tokens loose on one resource. From outside it is checked
// that no accepted write has a lower token than one that had ended before it began, that no reader sees
// tokens go back, and that the last value is of the highest token.
func concurrent(t *testing.T, s Subject) {
	r := begin(t, s, fence.Repeatable)
	start := time.Now()
	var mu sync.Mutex
	var accepted []write
	var tried fence.Token

	over, stop := context.WithCancel(t.Context())
	var watching, writing sync.WaitGroup
	for range readers {
		watching.Go(func() { r.watch(over) })
	}
	for range writers {
		writing.Go(func() {
			for range writesOfEach {
				w := write{token: 1 + fence.Token(rand.IntN(highestToken)), begun: time.Since(start)}
				err := r.Write(t.Context(), r.claim(w.token), r.value(w.token))
				w.end = time.Since(start)
				mu.Lock()
				tried = max(tried, w.token)
				if err == nil {
					accepted = append(accepted, w)
				}
				mu.Unlock()
				if err != nil && !errors.Is(err, fence.ErrStale) {
					t.Errorf("token %d: %v", w.token, err)
				}
			}
		})
	}
	writing.Wait()
	stop()
	watching.Wait()

	var highest fence.Token
	for _, w := range accepted {
		highest = max(highest, w.token)
		for _, later := range accepted {
			if later.begun > w.end && later.token < w.token {
				t.Errorf("token %d was accepted after %d", later.token, w.token)
			}
		}
	}
	if highest != tried {
		t.Errorf("the highest token accepted is %d, but %d was tried", highest, tried)
	}
	r.reads(r.value(highest))
	r.inOrder(s)
}

// concurrentOnce lets many writers use one token at the same time: [fence.Once] lets one of them pass.
func concurrentOnce(t *testing.T, s Subject) {
	r := begin(t, s, fence.Once)
	var passed atomic.Int64
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			switch err := r.Write(t.Context(), r.claim(7), "by 7"); {
			case err == nil:
				passed.Add(1)
			case !errors.Is(err, fence.ErrSpent):
				t.Error(err)
			}
		})
	}
	writing.Wait()
	if got := passed.Load(); got != 1 {
		t.Errorf("%d writes passed", got)
	}
}

// watch reads until ctx ends. Tokens in what it reads may only grow.
func (r *register) watch(ctx context.Context) {
	var last fence.Token
	for ctx.Err() == nil {
		value, err := r.Read(ctx, r.resource)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.Errorf("reading beside writers: %v", err)
			return
		}
		token := r.tokenOf(value)
		if token < last {
			r.Errorf("a reader saw token %d after %d", token, last)
		}
		last = token
	}
}

// inOrder checks the store's own history, if it keeps one.
func (r *register) inOrder(s Subject) {
	if s.History == nil {
		return
	}
	var last fence.Token
	for _, value := range s.History(r.TB, r.resource) {
		token := r.tokenOf(value)
		if token < last {
			r.Errorf("the history has token %d after %d", token, last)
		}
		last = token
	}
}

func (r *register) value(token fence.Token) string {
	return token.String() + separatorByte + r.resource
}

// tokenOf reads what value wrote, 0 if nothing was written yet.
func (r *register) tokenOf(value string) fence.Token {
	r.Helper()
	if value == "" {
		return 0
	}
	digits, _, _ := strings.Cut(value, separatorByte)
	token, err := fence.ParseToken(digits)
	if err != nil {
		r.Errorf("the value is %q: %v", value, err)
	}
	return token
}
