package watch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// rights are what docs/events.md says that a watch of shard 0 needs.
var rights = []string{
	"holdfast.info",
	"$JS.API.STREAM.INFO.KV_HOLDFAST_0",
	"$JS.API.STREAM.MSG.GET.KV_HOLDFAST_0",
	"$JS.API.CONSUMER.CREATE.KV_HOLDFAST_0.>",
	"$JS.API.CONSUMER.MSG.NEXT.KV_HOLDFAST_0.*",
	"$JS.API.CONSUMER.DELETE.KV_HOLDFAST_0.*",
}

// watcher is a user with all the rights but one, and may listen to these subjects.
func watcher(name string, missing int) string {
	var publish []string
	for i, right := range rights {
		if i != missing {
			publish = append(publish, fmt.Sprintf("%q", right))
		}
	}
	return fmt.Sprintf(
		`{ user: %s, password: pass, permissions: { publish: [%s, "holdfast.get.>"], subscribe: ["_INBOX.>", "holdfast.event.>"] } }`,
		name, strings.Join(publish, ", "))
}

func TestRightsOfAWatcher(t *testing.T) {
	users := []string{`{ user: node, password: pass }`, watcher("watcher", -1), reader}
	for i := range rights {
		users = append(users, watcher(fmt.Sprint("without", i), i))
	}
	s := startServerFor(t, strings.Join(users, "\n"))
	owner := client(t, login(s, "node"))
	stand.Value(owner.Acquire(t.Context(), "orders.1", holdfast.NoRenewal()))(t)
	for name, test := range map[string]holdfast.WatchOption{
		"Present": holdfast.Present(), "Since": holdfast.Since(time.Time{}), "Now": holdfast.Bookmarks(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			nc := stand.Dial(t, login(s, "watcher"))
			for e, err := range stand.Client(t, nc).Watch(t.Context(), ">", test) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == holdfast.EventBookmark || e.Kind == holdfast.EventAcquired {
					break
				}
			}
			if err := nc.LastError(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("WaitFree", func(t *testing.T) {
		nc := stand.Dial(t, login(s, "watcher"))
		done := make(chan error, 1)
		c := stand.Client(t, nc)
		go func() { done <- c.WaitFree(t.Context(), "orders.1") }()
		stand.Must(t, owner.Break(t.Context(), "orders.1", 1, "enough"))
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for i, right := range rights[1 : len(rights)-1] { // without the last, JetStream removes the consumer later
		if strings.Contains(right, "CONSUMER.CREATE") {
			continue // see TestWatchWithoutConsumers
		}
		t.Run("Without "+right, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			c := stand.Client(t, stand.Dial(t, login(s, fmt.Sprint("without", i+1))))
			for e, err := range c.Watch(ctx, ">", holdfast.Since(time.Time{})) {
				if !errors.Is(err, holdfast.ErrUnavailable) || !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("got %v, %v", e, err)
				}
				break
			}
		})
	}
}

// reader is a user who may read journals and create no consumers.
const reader = `{ user: reader, password: pass, permissions: {
	publish: ["holdfast.info", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*"], subscribe: ["_INBOX.>"] } }`

// A user who may not create consumers watches all the same: the holders, or the past, and what follows.
func TestWatchWithoutConsumers(t *testing.T) {
	t.Parallel()
	s := startServerFor(t, `{ user: node, password: pass }`+"\n"+reader)
	owner := client(t, login(s, "node"))
	c := client(t, login(s, "reader"))
	for name, option := range map[string]holdfast.WatchOption{"present": holdfast.Present(),
		"since": holdfast.Since(time.Time{})} {
		t.Run(name, func(t *testing.T) {
			acquire := func(i int) {
				t.Helper()
				stand.Value(owner.Acquire(t.Context(), fmt.Sprint(name, ".", i), holdfast.NoRenewal()))(t)
			}
			const early, all = 5, 10
			for i := range early {
				acquire(i)
			}
			seen := 0
			for e, err := range c.Watch(t.Context(), name+".*", option) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == holdfast.EventBookmark {
					continue
				}
				if want := fmt.Sprint(name, ".", seen); e.Lease.Resource != want {
					t.Errorf("got %s, want %s", e.Lease.Resource, want)
				}
				if seen++; seen == all {
					break
				}
				if seen >= early {
					acquire(seen)
				}
			}
		})
	}
}
