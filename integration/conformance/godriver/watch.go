package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// watch is an iteration over events.
type watch struct {
	stop  context.CancelFunc
	ended chan struct{}
	// leaders are what an observation has yielded.
	leaders []object
}

// watch answers when the watch misses no event any more.
func (d *driver) watch(_ context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{stop: stop, ended: make(chan struct{})}
	put(d, d.watches, c.Watch, w)
	stands := make(chan error, 1)
	go func() {
		defer close(w.ended)
		for e, err := range client.Watch(ctx, c.Pattern, holdfast.Bookmarks(time.Hour)) {
			switch {
			case err != nil:
				fmt.Fprintln(os.Stderr, "godriver: watch:", err)
				stands <- err
			case e.Kind == holdfast.EventBookmark:
				select {
				case stands <- nil:
				default:
				}
			default:
				d.write(object{
					"note": "event", "watch": c.Watch, "kind": e.Kind.String(), "name": e.Lease.Resource,
					"token": decimal(e.Lease.Token), "owner": e.Lease.Owner,
				})
			}
		}
	}()
	return nil, <-stands
}

func (d *driver) unwatch(_ context.Context, c *command) (object, error) {
	w, err := find(d, d.watches, "watch", c.Watch)
	if err != nil {
		return nil, err
	}
	w.stop()
	<-w.ended
	if w.leaders == nil {
		return nil, nil
	}
	return object{"leaders": w.leaders}, nil
}
