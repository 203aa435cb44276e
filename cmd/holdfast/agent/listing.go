//go:build unix

package agent

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

const (
	// listEvery is the interval of listings. They find losses beyond maxKnown, and those of a moment at which the
	// journal was ahead of a listing.
	listEvery = 30 * time.Second
	// listAgain is the pause after a listing that failed.
	listAgain = time.Second
)

// keepListing lists what is held back: when the journals are followed, after each interruption of the connection, after
// a gap in the journals, and now and then. The first listing has to succeed.
func (a *agent) keepListing(ctx context.Context) error {
	connected := a.nc.StatusChanged(nats.CONNECTED)
	select {
	case <-a.begun:
	case <-ctx.Done():
		return nil
	}
	found, err := a.list(ctx)
	if err != nil {
		return err
	}
	a.report.Print("following the losses of %s; %d found", display.Name(a.pattern.Text), found)
	due := time.NewTimer(listEvery)
	defer due.Stop()
	for {
		select {
		case <-due.C:
		case <-connected:
		case <-a.gap:
		case <-ctx.Done():
			return nil
		}
		next := listEvery
		if _, err := a.list(ctx); err != nil && ctx.Err() == nil {
			next = listAgain
			a.report.Print("cannot list what is held back: %s; trying again in %s", display.Plain(err),
				display.Duration(next))
		}
		due.Reset(next)
	}
}

// list handles what is held back and returns the number of losses.
func (a *agent) list(ctx context.Context) (found int, err error) {
	a.losses.beginListing()
	defer a.losses.finishListing()
	for l, err := range a.client.Lost(ctx, a.pattern.Key) {
		if err != nil {
			return found, err
		}
		found++
		a.handle(ctx, loss{lease: l.Lease})
	}
	return found, nil
}
