//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Step is one fault of a schedule.
type Step struct {
	// At is when it begins, after the schedule does; For is how long it lasts.
	At, For time.Duration
	Fault   Fault
}

// String returns what is to happen when.
func (s Step) String() string { return fmt.Sprintf("at %v for %v: %s", s.At, s.For, s.Fault) }

// Schedule is what is to go wrong, and when. Faults may overlap.
type Schedule []Step

// String has a line for each step.
func (s Schedule) String() string {
	var lines []string
	for _, step := range s {
		lines = append(lines, step.String())
	}
	return strings.Join(lines, "\n")
}

// During lets faults go on together for a while, and heals them.
func (c *Cluster) During(ctx context.Context, lasting time.Duration, faults ...Fault) ([]Proof, error) {
	var s Schedule
	for _, f := range faults {
		s = append(s, Step{For: lasting, Fault: f})
	}
	return c.Run(ctx, s)
}

// Run lets happen what the schedule says, and returns when all is healed again, which does not mean healthy.
// The proofs are of those that have happened. The error is [ErrNoEvidence] if nothing worse is known of
// the others: in a mixture one fault may leave nothing for another to do. If the context ends, what goes on is
// healed at once.
func (c *Cluster) Run(ctx context.Context, s Schedule) ([]Proof, error) {
	start := time.Now()
	var mu sync.Mutex
	var proofs []Proof
	var void, failed error
	var all sync.WaitGroup
	for _, step := range s {
		all.Go(func() {
			p, err := c.play(ctx, start, step)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				proofs = append(proofs, p)
			case errors.Is(err, ErrNoEvidence):
				void = errors.Join(void, err)
			default:
				failed = errors.Join(failed, err)
			}
		})
	}
	all.Wait()
	slices.SortFunc(proofs, func(a, b Proof) int { return a.Begun.Compare(b.Begun) })
	if failed != nil {
		return proofs, failed
	}
	return proofs, void
}

func (c *Cluster) play(ctx context.Context, start time.Time, step Step) (Proof, error) {
	if err := wait(ctx, time.Until(start.Add(step.At))); err != nil {
		return Proof{}, fmt.Errorf("%s: %w", step.Fault, err)
	}
	i, err := c.Inject(ctx, step.Fault)
	if err != nil {
		return Proof{}, err
	}
	cut := wait(ctx, step.For)
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTime)
	defer cancel()
	p, err := i.Heal(healing)
	if cut != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", step.Fault, cut))
	}
	return p, err
}

// healTime bounds a rolling restart, which waits for each of the nodes; the others take a moment.
const healTime = 5 * time.Minute

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
