package takeover_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// plantedLength is long enough for a bug to do harm in most rounds; a round that was lucky is repeated.
const (
	plantedLength = 3 * time.Second
	plantedRounds = 5
)

// Bugs between the nodes and their journals: each has to be found, or the storm proves nothing.
func TestStormFindsPlantedBugs(t *testing.T) {
	c := mustCluster(t)
	seed := rand.Uint64()
	for name, plant := range map[string]func(actors.Journal) actors.Journal{
		"answers leave before the append is confirmed": func(j actors.Journal) actors.Journal { return newAhead(j, 1) },
		"four appends are in flight":                   func(j actors.Journal) actors.Journal { return newAhead(j, 4) },
		"a conflict is taken for success":              func(j actors.Journal) actors.Journal { return deaf{j} },
		"an unknown outcome is taken for failure":      func(j actors.Journal) actors.Journal { return hasty{j} },
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{T: t, servers: c.servers, js: c.js}
			for range plantedRounds {
				seed++
				s := newStorm(t, c, seed)
				s.calm, s.plant = true, plant
				rep := s.play(plantedLength)
				c.drop(s.prefix)
				if len(s.wrongs) > 0 {
					t.Logf("found after %d takeovers:\n%s", rep.takeovers,
						strings.Join(s.wrongs[:min(3, len(s.wrongs))], "\n"))
					return
				}
			}
			t.Errorf("not found in %d rounds", plantedRounds)
		})
	}
}

// ahead confirms appends before the bucket has, and lets some be in flight together, each behind where
// the one before it ought to stand.
type ahead struct {
	actors.Journal
	turns chan struct{}
	work  sync.WaitGroup
	mu    sync.Mutex
	err   error
}

func newAhead(j actors.Journal, depth int) *ahead {
	return &ahead{Journal: j, turns: make(chan struct{}, depth)}
}

// Append implements [actors.Journal].
func (a *ahead) Append(ctx context.Context, after uint64, r *journal.Record) error {
	if r.GetCommit().GetOpened() {
		a.work.Wait()
		a.failed(nil)
		return a.Journal.Append(ctx, after, r)
	}
	a.turns <- struct{}{}
	if err := a.failure(); err != nil {
		<-a.turns
		return err
	}
	a.work.Go(func() {
		if err := a.Journal.Append(ctx, after, r); err != nil {
			a.failed(err)
		}
		<-a.turns
	})
	return nil
}

func (a *ahead) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

func (a *ahead) failed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// deaf does not learn that it was deposed.
type deaf struct{ actors.Journal }

// Append implements [actors.Journal].
func (d deaf) Append(ctx context.Context, after uint64, r *journal.Record) error {
	err := d.Journal.Append(ctx, after, r)
	if errors.Is(err, journal.ErrConflict) && !r.GetCommit().GetOpened() {
		return nil
	}
	return err
}

// hasty gives some appends up soon, and says that nothing was stored.
type hasty struct{ actors.Journal }

// Append implements [actors.Journal].
func (h hasty) Append(ctx context.Context, after uint64, r *journal.Record) error {
	if rand.IntN(10) > 0 {
		return h.Journal.Append(ctx, after, r)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	err := h.Journal.Append(ctx, after, r)
	if errors.Is(err, journal.ErrUnknown) {
		return fmt.Errorf("%w: %w", journal.ErrNotStored, err)
	}
	return err
}
