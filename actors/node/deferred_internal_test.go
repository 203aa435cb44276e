package node

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// Each refusal is sent once and in order: after the delay, together with others that are due, or at once if too many
// wait or the node ends.
func TestDeferredRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sent []string
		why := errors.New("rate")
		d := newDeferred(actors.SystemClock(), func(to messages.ReplyTo, err error) {
			if err != why { //nolint:errorlint // the very same one
				t.Errorf("sent %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, to.Subject)
		})
		put := func(n int) { d.put(messages.ReplyTo{Subject: fmt.Sprint(n)}, why) }
		want := func(n int, when string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(sent) != n || n > 0 && sent[n-1] != fmt.Sprint(n-1) {
				t.Errorf("%s: %d were sent, the last ones %v, want %d", when, len(sent), sent[max(len(sent)-3, 0):], n)
			}
		}
		put(0)
		<-time.After(refusalDelay / 2)
		put(1)
		want(0, "before the delay")
		<-time.After(refusalDelay/2 + refusalInterval)
		want(1, "after the delay of the first")
		<-time.After(refusalDelay)
		want(2, "after the delay of the second")
		for n := range maxDeferred {
			put(2 + n)
		}
		want(2, "as many as may wait")
		d.put(messages.ReplyTo{Subject: "2"}, why)
		want(3, "one more leaves at once")
		mu.Lock()
		sent = sent[:2]
		mu.Unlock()
		d.close()
		want(2+maxDeferred, "the node ends")
		put(2 + maxDeferred)
		want(3+maxDeferred, "one more after the end")
	})
}
