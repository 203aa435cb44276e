package client_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
)

// Several clients count under a lock, without any other synchronisation: the race detector and the sum
// report whether two were there at once. Some are disturbed all the time.
func TestMutualExclusion(t *testing.T) {
	const workers, turns = 4, 40
	p := proxy.New(t, url)
	clients := []*holdfast.Client{newClient(t, url), newClient(t, url), newClient(t, p.URL())}
	var counter counter
	var group sync.WaitGroup
	for _, c := range clients {
		for range workers {
			group.Go(func() {
				for range turns {
					if err := c.Do(testContext(t), t.Name(), counter.add); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var disturber sync.WaitGroup
	disturber.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			p.Cut()
		}
	})
	group.Wait()
	stop()
	disturber.Wait()
	if want := len(clients) * workers * turns; counter.n != want {
		t.Errorf("counted %d, want %d", counter.n, want)
	}
	if counter.fell {
		t.Error("a token was not above the one before")
	}
	untilFree(t, clients[0], t.Name())
}

// counter is guarded by the lock alone.
type counter struct {
	n    int
	last holdfast.Token
	fell bool
}

func (c *counter) add(_ context.Context, l *holdfast.Lock) error {
	c.n++
	c.fell = c.fell || l.Token() <= c.last
	c.last = l.Token()
	return nil
}
