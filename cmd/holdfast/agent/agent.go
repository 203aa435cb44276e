//go:build unix

package agent

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// agent handles the losses that a pattern selects. It reads them from the journals, and finds those that it has missed
// in listings.
type agent struct {
	*command
	client *holdfast.Client
	nc     *nats.Conn
	fence  fence
	report *display.Reporter

	losses losses
	// running has a goroutine for each loss that is handled, and one for the listings.
	running sync.WaitGroup
	// begun is closed when the journals are followed: what is lost from then on is read there.
	begun chan struct{}
	once  sync.Once
	// gap has an entry if losses may have been missed, so that a listing has to find them.
	gap chan struct{}
}

func newAgent(c *command, client *holdfast.Client, nc *nats.Conn, r *display.Reporter) *agent {
	return &agent{
		command: c, client: client, nc: nc, report: r,
		fence: fence{path: c.path, words: c.words, limit: c.limit.Duration,
			slots: make(chan struct{}, c.parallel.Value)},
		losses: losses{known: make(map[id]context.CancelFunc)},
		begun:  make(chan struct{}),
		gap:    make(chan struct{}, 1),
	}
}

// run handles losses until ctx ends, which is not an error, or until they cannot be followed any more. The commands
// that run then are killed.
func (a *agent) run(ctx context.Context) error {
	if err := a.checkDeployment(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer a.running.Wait()
	defer cancel(nil)
	a.running.Go(func() {
		if err := a.keepListing(ctx); err != nil {
			cancel(err)
		}
	})
	err := a.follow(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return a.ending(err)
}

// checkDeployment returns an error if the deployment holds nothing back after a loss.
func (a *agent) checkDeployment(ctx context.Context) error {
	info, err := a.client.Info(ctx)
	switch {
	case ctx.Err() != nil:
		return nil // a signal, on which the agent ends at once
	case err != nil:
		return a.ending(err)
	case !slices.Contains(info.Features, messages.FeatureDelay):
		return exit.Usagef(
			"Holdfast at %s, version %s, lacks the feature %q: upgrade its nodes for resources that are held back "+
				"after a loss",
			a.connection.Where(), info.Version, messages.FeatureDelay)
	}
	return nil
}

// ending returns the error of the command for what ended the agent.
func (a *agent) ending(err error) error {
	switch _, failed := errors.AsType[*holdfast.Error](err); {
	case !failed:
		return nil // a signal
	case errors.Is(err, holdfast.ErrInvalid):
		return exit.Errorf(exit.Usage, "%s", display.Plain(err))
	}
	return exit.Errorf(exit.Unavailable, "cannot follow the losses at %s: %s", a.connection.Where(), display.Plain(err))
}

// follow handles the events of the journals until ctx ends.
func (a *agent) follow(ctx context.Context) error {
	for {
		err := a.watch(ctx)
		if !errors.Is(err, holdfast.ErrCompacted) {
			return err
		}
		a.report.Print("the journal was compacted before it was read; a listing finds what was lost meanwhile")
		select {
		case a.gap <- struct{}{}:
		default: // a listing is due already
		}
	}
}

// watch handles the events of the journals from now on, until the first error.
func (a *agent) watch(ctx context.Context) error {
	kinds := holdfast.Kinds(holdfast.EventExpired, holdfast.EventBroken, holdfast.EventConfirmed)
	for e, err := range a.client.Watch(ctx, a.pattern.Key, kinds, holdfast.Bookmarks(listEvery)) {
		switch {
		case err != nil:
			return err
		case e.Kind == holdfast.EventBookmark:
			a.once.Do(func() { close(a.begun) })
		case e.Kind == holdfast.EventConfirmed:
			a.losses.end(idOf(e.Lease))
		case e.HeldBack:
			a.handle(ctx, loss{lease: e.Lease, kind: e.Kind, reason: e.Reason})
		}
	}
	return nil
}

// handle stops the holder of a lost lease in the background, unless that is done already.
func (a *agent) handle(ctx context.Context, l loss) {
	l.tenant = a.connection.Tenant
	over, cancel := context.WithCancel(ctx)
	if !a.losses.add(idOf(l.lease), cancel) {
		cancel()
		return
	}
	a.running.Go(func() {
		defer cancel()
		a.settle(ctx, over, l)
	})
}

// settle stops the holder and confirms the loss. It tries again until that succeeds, or until the resource is not held
// back any more, which ends over. A command that runs then is not killed: what it has begun is best finished.
func (a *agent) settle(ctx, over context.Context, l loss) {
	stopped := false // the command has succeeded, and is not run again
	for pause := a.retry.Duration; ; pause = min(2*pause, longestPause) {
		var err error
		if !stopped {
			if !a.fence.enter(over) {
				break
			}
			a.report.Detail("running the command for %s", l)
			err = a.fence.run(ctx, l)
			a.fence.leave()
		}
		if stopped = err == nil; stopped {
			err = a.client.Confirm(ctx, l.lease.Resource, l.lease.Token, a.by, how)
		}
		switch {
		case err == nil:
			a.losses.end(idOf(l.lease))
			a.report.Print("confirmed the loss of %s", l)
			return
		case errors.Is(err, holdfast.ErrNotHeld), errors.Is(err, holdfast.ErrStaleToken):
			a.losses.end(idOf(l.lease))
		case ctx.Err() != nil:
			return // the command was killed
		default:
			a.report.Print("%s: %s; next attempt in %s", l, display.Plain(err), display.Duration(pause))
		}
		if !connect.Pause(over, pause) {
			break
		}
	}
	if ctx.Err() == nil {
		a.report.Detail("%s holds nothing back any more", l)
	}
}

// how is what the events of a confirmation say.
const how = "the command of the fencing agent succeeded"
