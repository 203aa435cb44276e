package holdfast

import (
	"context"

	"github.com/holdfast-io/holdfast/messages"
)

// downgrade is one of a holder's lease that is asked for, and not decided.
type downgrade struct {
	// leases is how many are downgraded.
	leases int
	// orphans are grants that nothing waited for: each may be one of those leases, under its new token.
	orphans []*messages.Lease
	over    chan struct{}
}

// downgrading notes that one lease more may change its token.
func (s *handles) downgrading(k holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.downgrades[k]
	if d == nil {
		d = &downgrade{over: make(chan struct{})}
		put(&s.downgrades, k, d)
	}
	d.leases++
}

// downgraded notes that one lease less may change its token. After the last it returns the orphans, which are known
// now.
func (s *handles) downgraded(k holder) []*messages.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.downgrades[k]
	if d.leases--; d.leases > 0 {
		return nil
	}
	delete(s.downgrades, k)
	close(d.over)
	return d.orphans
}

// downgradeOver is downgraded, and gives back the orphans that have no handle.
func (s *handles) downgradeOver(k holder) {
	for _, l := range s.downgraded(k) {
		s.giveBack(l, s.c.secret())
	}
}

// awaitDowngrades waits until it is known which leases of the holder have which tokens.
func (s *handles) awaitDowngrades(ctx context.Context, k holder, stop <-chan struct{}) {
	s.mu.Lock()
	d := s.downgrades[k]
	s.mu.Unlock()
	if d == nil {
		return
	}
	select {
	case <-d.over:
	case <-ctx.Done():
	case <-stop:
	}
}
