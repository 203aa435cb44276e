package watch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// table is who holds what, kept by the events of a watch that began with the present holders.
type table struct {
	mu sync.Mutex
	// held are the tokens of the leases of each resource.
	held map[string]map[holdfast.Token]bool
	// back are the ended leases that hold a resource back, as far as the watch has shown their end.
	back map[string]map[holdfast.Token]bool
	// whole: all present holders have come.
	whole bool
}

// begin forgets all, since the present holders will come.
func (b *table) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held, b.whole = make(map[string]map[holdfast.Token]bool), false
	b.back = make(map[string]map[holdfast.Token]bool)
}

// take applies an event, which must be one that is possible there: that is how a gap or a change that came
// twice would be noticed. An exclusive lease is held alone.
func (b *table) take(e holdfast.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := e.Lease
	had := b.held[l.Resource]
	switch held := had[l.Token]; {
	case e.Kind == holdfast.EventBookmark:
		b.whole = true
	case e.Kind == holdfast.EventConfirmed:
		if held {
			return fmt.Errorf("%v where tokens %v are held", e, had)
		}
		if e.Resting == 0 {
			delete(b.back[l.Resource], l.Token) // it may have ended before the watch began
		}
	case e.Kind == holdfast.EventAcquired && len(b.back[l.Resource]) > 0:
		return fmt.Errorf("%v where tokens %v hold back", e, b.back[l.Resource])
	case e.Kind == holdfast.EventPresent || e.Kind == holdfast.EventAcquired:
		if held || len(had) > 0 && l.Limit == 0 {
			return fmt.Errorf("%v where tokens %v are held", e, had)
		}
		if had == nil {
			had = make(map[holdfast.Token]bool)
			b.held[l.Resource] = had
		}
		had[l.Token] = true
	case !held:
		return fmt.Errorf("%v where tokens %v are held", e, had)
	case e.Kind.Ends():
		if e.HeldBack || e.Resting > 0 {
			b.holdBack(l.Resource, l.Token)
		}
		if delete(had, l.Token); len(had) == 0 {
			delete(b.held, l.Resource)
		}
	}
	return nil
}

// holdBack notes that an ended lease holds a resource back. It is called with mu held.
func (b *table) holdBack(resource string, token holdfast.Token) {
	if b.back[resource] == nil {
		b.back[resource] = make(map[holdfast.Token]bool)
	}
	b.back[resource][token] = true
}

func (b *table) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.whole && len(b.held) == 0
}

// follow runs a watch until its context ends, which is the only error that it may end with.
func follow(ctx context.Context, c *holdfast.Client, pattern string, take func(holdfast.Event) error,
	opts ...holdfast.WatchOption) error {
	for e, err := range c.Watch(ctx, pattern, opts...) {
		if err == nil {
			err = take(e)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}
