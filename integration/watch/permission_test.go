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
	return fmt.Sprintf(`{ user: %s, password: pass, permissions: { publish: [%s, "holdfast.get.>"], subscribe: ["_INBOX.>", "holdfast.event.>"] } }`,
		name, strings.Join(publish, ", "))
}

func TestRightsOfAWatcher(t *testing.T) {
	users := []string{`{ user: node, password: pass }`, watcher("watcher", -1)}
	for i := range rights {
		users = append(users, watcher(fmt.Sprint("without", i), i))
	}
	s := startServerFor(t, strings.Join(users, "\n"))
	owner := client(t, login(s, "node"))
	if _, err := owner.Acquire(t.Context(), "orders.1", holdfast.NoRenewal()); err != nil {
		t.Fatal(err)
	}
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
		if err := owner.Break(t.Context(), "orders.1", 1, "enough"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for i, right := range rights[1 : len(rights)-1] { // without the last, JetStream removes the consumer later
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
