package page

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

// pulseKinds are the kinds of changes that a pulse counts.
var pulseKinds = holdfast.Kinds(holdfast.EventAcquired, holdfast.EventExpired, holdfast.EventBroken, holdfast.EventConfirmed)

// pulseWindows are how far back the journals are read for a pulse, one after the other.
var pulseWindows = []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}

const (
	// maxLosses and maxTop are how many losses, and how many locks of a kind, the overview shows.
	maxLosses, maxTop = 10, 5
	// manyHandOvers is from when a lock changes its holder often enough to be shown.
	manyHandOvers = 2
)

// pulse is what was lost in the last minutes, and which locks have changed their holder most.
type pulse struct {
	// Losses are the newest leases that expired or were broken, and the newest confirmations.
	Losses []change
	// Lost is how many leases have expired or were broken.
	Lost int
	// Busy are the locks with the most grants, that with the most first.
	Busy []busy
	// Window is how far it goes back; 0: the journals did not answer in time. Some: so many changes are made that some of
	// the window are left out.
	Window time.Duration
	Some   bool
}

// busy is a lock that was granted often.
type busy struct {
	cli.Resource
	Grants int
}

// beat reads a pulse: of the longest window that can be read within the bounds.
func (d *deployment) beat(ctx context.Context) (*pulse, error) {
	of := selection{}
	if err := of.choose(ctx, d); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	last := &pulse{}
	for _, window := range pulseWindows {
		rows, _, err := of.since(limited, d.client, window, pulseKinds)
		if limited.Err() != nil || errors.Is(err, errTooMany) {
			if last.Window == 0 && len(rows) > 0 {
				last = pulseOf(rows)
				last.Window, last.Some = window, true
			}
			break
		}
		if err != nil {
			return nil, err
		}
		last = pulseOf(rows)
		last.Window = window
	}
	return last, ctx.Err()
}

func pulseOf(rows []change) *pulse {
	p, grants := &pulse{}, make(map[cli.Resource]int)
	for _, c := range rows {
		if c.Kind == kindAcquired {
			grants[c.of()]++
			continue
		}
		if c.Kind != kindConfirmed {
			p.Lost++
		}
		p.Losses = append(p.Losses, c)
	}
	p.Losses = newest(p.Losses)
	p.Losses = p.Losses[:min(len(p.Losses), maxLosses)]
	maps.DeleteFunc(grants, func(_ cli.Resource, n int) bool { return n < manyHandOvers })
	for _, of := range slices.SortedFunc(maps.Keys(grants), func(a, b cli.Resource) int {
		return cmp.Or(cmp.Compare(grants[b], grants[a]), a.Compare(b))
	}) {
		if len(p.Busy) < maxTop {
			p.Busy = append(p.Busy, busy{of, grants[of]})
		}
	}
	return p
}

// recently begins the time that notes of nodes are shown for: the longest window of a pulse.
func recently(now time.Time) time.Time { return now.Add(-pulseWindows[len(pulseWindows)-1]) }
