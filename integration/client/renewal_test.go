package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// However long the lease, a renewal without an answer is repeated every now and then, and no faster.
func TestRenewalsArePaced(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, url)
	l := mustAcquire(t, newClient(t, p.URL()), t.Name(), holdfast.TTL(24*time.Hour))
	p.OnAnswers("extend", proxy.Always(proxy.Lose))
	begun := time.Now()
	if err := l.Extend(soon(t, 300*time.Millisecond), 24*time.Hour); !errors.Is(err, holdfast.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	most := 2 + int(time.Since(begun)/time.Second)
	if n := p.Count("extend"); n > most {
		t.Errorf("it was tried %d times, more than %d", n, most)
	}
}

// A caller of Extend waits no longer for the next attempt than with any other request.
func TestExtendIsTriedAsOftenAsOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		hinder func(*stand.Stand, *proxy.Proxy)
		chance int // by how much the counts may differ: the pauses after a refusal are random
	}{
		{"Unanswered", func(_ *stand.Stand, p *proxy.Proxy) {
			p.OnAnswers("", proxy.Always(proxy.Lose))
		}, 1},
		{"NoResponders", func(s *stand.Stand, _ *proxy.Proxy) { s.StopNode() }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stand.Start(t, stand.Config{})
			p := proxy.New(t, s.Server.ClientURL())
			client := newClient(t, p.URL(), holdfast.Timeout(4*time.Second))
			l := mustAcquire(t, client, t.Name(), holdfast.TTL(24*time.Hour))
			c.hinder(s, p)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			var asking sync.WaitGroup
			asking.Go(func() { _, _ = client.Get(ctx, t.Name()) })
			asking.Go(func() { _ = l.Extend(ctx, 24*time.Hour) })
			asking.Wait()
			if extends, gets := p.Count("extend"),
				p.Count("get"); gets < 3 || max(extends-gets, gets-extends) > c.chance {
				t.Errorf("an Extend was tried %d times, a Get %d times", extends, gets)
			}
		})
	}
}

// A grant that comes late leaves less of the lease than was asked for, and is renewed in time all the
// same.
func TestRenewalOfLateGrant(t *testing.T) {
	t.Parallel()
	url := newService(t).URL() // tokens begin at 1
	p := proxy.New(t, url)
	c := newClient(t, p.URL(), holdfast.Defaults(holdfast.TTL(9*time.Second)))
	stand.Value(c.Info(testContext(t)))(t)
	p.OnAnswers("acquire", proxy.First(1, proxy.Lose)) // tried again after 500 ms
	l := stand.Value(c.TryAcquire(testContext(t), t.Name()))(t)
	if l.Token() != 1 {
		t.Errorf("got token %d, want the first one's", l.Token())
	}
	untilOutlived(t, l)
}

// observations are what a hook received.
type observations struct {
	mu    sync.Mutex
	lines []string
}

func (j *observations) note(l *holdfast.Lock, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state := "safe"
	if err != nil {
		state = "danger"
	}
	j.lines = append(j.lines, fmt.Sprint(l.Token(), " ", state))
}

func (j *observations) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, ", ")
}

func TestJeopardy(t *testing.T) {
	t.Parallel()
	url := newService(t).URL() // tokens begin at 1
	t.Run("InTurns", func(t *testing.T) {
		t.Parallel()
		p := proxy.New(t, url)
		var j observations
		c := newClient(t, p.URL(), holdfast.OnJeopardy(j.note))
		l := mustAcquire(t, c, t.Name(), holdfast.TTL(9*time.Second))
		want := ""
		for range 3 {
			p.OnAnswers("extend", proxy.Always(proxy.Lose))
			want += "000000000000001 danger"
			stand.Eventually(t, "the hook receives the danger, once", func() bool { return j.String() == want })
			p.Resume()
			want += ", 000000000000001 safe"
			stand.Eventually(t, "the hook receives that the danger is over", func() bool { return j.String() == want })
			want += ", "
		}
		mustRelease(t, l)
	})

	t.Run("Lost", func(t *testing.T) {
		t.Parallel()
		p := proxy.New(t, url)
		var j observations
		l := mustAcquire(t, newClient(t, p.URL(), holdfast.OnJeopardy(j.note)), t.Name(), holdfast.TTL(2*time.Second))
		p.Blackhole()
		await(t, "the lock is lost", l.Lost())
		if got := j.String(); got != "000000000000001 danger" {
			t.Errorf("got %q, want the danger alone", got)
		}
	})

	t.Run("Disconnected", func(t *testing.T) {
		t.Parallel()
		p := proxy.New(t, url)
		var j observations
		l := mustAcquire(t, newClient(t, p.URL(), holdfast.OnJeopardy(j.note)), t.Name(), holdfast.TTL(9*time.Second))
		p.Sever()
		stand.Eventually(t, "the danger is reported", func() bool { return j.String() == "000000000000001 danger" })
		p.Resume()
		stand.Eventually(t, "the hook receives that it is over",
			func() bool { return j.String() == "000000000000001 danger, 000000000000001 safe" })
		if !l.Valid() {
			t.Error("the lock is lost")
		}
	})

	// An Extend while a renewal is on its way is no danger.
	t.Run("NotByExtend", func(t *testing.T) {
		t.Parallel()
		var j observations
		l := mustAcquire(t, newClient(t, url, holdfast.OnJeopardy(j.note)), t.Name(), holdfast.TTL(time.Minute))
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				if err := l.Extend(testContext(t), time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		mustRelease(t, l)
		if got := j.String(); got != "" {
			t.Errorf("got %q", got)
		}
	})

	// A slow hook holds nothing up but later calls of itself, and misses none.
	t.Run("Slow", func(t *testing.T) {
		t.Parallel()
		p := proxy.New(t, url)
		var j observations
		gate := make(chan struct{})
		c := newClient(t, p.URL(), holdfast.OnJeopardy(func(l *holdfast.Lock, err error) {
			<-gate
			j.note(l, err)
		}))
		// With a shorter lease, a renewal that is late on a busy machine is a second danger.
		l := mustAcquire(t, c, t.Name(), holdfast.TTL(9*time.Second))
		p.OnAnswers("extend", proxy.Always(proxy.Lose))
		stand.Eventually(t, "a renewal is repeated", func() bool { return p.Count("extend") >= 3 })
		p.Resume()
		untilOutlived(t, l)
		close(gate)
		stand.Eventually(t, "the hook receives both", func() bool {
			return j.String() == "000000000000001 danger, 000000000000001 safe"
		})
		mustRelease(t, l)
	})
}
