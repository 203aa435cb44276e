package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// forEver is a timeout that no test waits for: a call that returns has given up before.
const forEver = time.Hour

// wantReason fails the test unless the call was unavailable for this reason, in these words.
func wantReason(t *testing.T, err error, want holdfast.Reason, words ...string) {
	t.Helper()
	var e *holdfast.Error
	if !errors.As(err, &e) || !errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, holdfast.ErrUnknown) ||
		e.Reason != want {
		t.Errorf("got %v, want ErrUnavailable with the reason %q", err, want)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not contain %q", err, word)
		}
	}
}

func TestConnect(t *testing.T) {
	url := startWithUsers(t)
	host := strings.TrimPrefix(url, "nats://")
	_, err := holdfast.Connect("nats://orders:secret@" + host)
	wantReason(t, err, holdfast.ReasonLogin, url, "Authorization Violation", "check the user")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error has the password: %v", err)
	}
	_, err = holdfast.Connect("nats://127.0.0.1:1,nats://127.0.0.1:2")
	wantReason(t, err, holdfast.ReasonNotConnected, "nats://127.0.0.1:1,nats://127.0.0.1:2")
	nc, err := holdfast.Connect("nats://127.0.0.1:1,"+url, nats.UserInfo("orders", "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	mustRelease(t, mustAcquire(t, stand.Client(t, nc), "orders.42"))
}

// What a user may not do is known at once, also if many calls ask for it at the same time. The handler of the
// application is called all the same, and gets its place back.
func TestDeniedCalls(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := 0
	nc := stand.Dial(t, startWithUsers(t), nats.UserInfo("orders", "x"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, nats.ErrPermissionViolation) {
				seen++
			}
		}))
	c, second := stand.Client(t, nc, holdfast.Timeout(forEver)), stand.Client(t, nc, holdfast.Timeout(forEver))
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			name := fmt.Sprint("customers.", i%5) // some are about the same name
			_, err := []*holdfast.Client{c, second}[i%2].TryAcquire(testContext(t), name)
			wantReason(t, err, holdfast.ReasonPermission, "holdfast.acquire.customers.", "holdfast access")
		})
	}
	calls.Wait()
	_, err := c.Acquire(testContext(t), "customers.42")
	wantReason(t, err, holdfast.ReasonPermission, "holdfast.acquire.customers.42")
	mustRelease(t, mustAcquire(t, c, "orders.42"))
	if err := errors.Join(c.Close(testContext(t)), second.Close(testContext(t))); err != nil {
		t.Error(err)
	}
	mu.Lock()
	before := seen
	mu.Unlock()
	stand.Must(t, errors.Join(nc.Publish("elsewhere", nil), nc.Flush()))
	stand.Eventually(t, "the handler of the application is called", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return before > 0 && seen > before
	})
}

// The warning is there if the connection gives up, and only then.
func TestConnectionThatGivesUp(t *testing.T) {
	var lines bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	defer slog.SetDefault(before)
	for _, test := range []struct {
		opts []nats.Option
		want string
	}{
		{[]nats.Option{nats.NoReconnect()}, "does not reconnect"},
		{[]nats.Option{nats.MaxReconnects(10)}, "after_about=20s"},
		{[]nats.Option{nats.MaxReconnects(-1)}, ""},
	} {
		lines.Reset()
		newClientOn(t, url, test.opts...)
		if got := lines.String(); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("logged %q, want %q", got, test.want)
		}
	}
}

func newClientOn(t *testing.T, url string, opts ...nats.Option) {
	t.Helper()
	nc := stand.Value(nats.Connect(url, opts...))(t)
	defer nc.Close()
	c := stand.Value(holdfast.New(nc))(t)
	if err := c.Close(testContext(t)); err != nil {
		t.Error(err)
	}
}

// A wait that is over says who holds the lock, and whether that is the client itself.
func TestTimeoutNamesTheHolder(t *testing.T) {
	t.Parallel()
	c, other := newClient(t, url), newClient(t, url)
	l := mustAcquire(t, c, t.Name())
	for _, test := range []struct {
		c    *holdfast.Client
		want string
	}{{other, fmt.Sprintf("(held by %q, token %v)", l.Owner(), l.Token())}, {c, "this client holds it itself"}} {
		_, err := test.c.Acquire(testContext(t), t.Name(), holdfast.MaxWait(10*time.Millisecond))
		if !errors.Is(err, holdfast.ErrTimeout) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want ErrTimeout with %q", err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	mustRelease(t, l)
	if _, err := c.Acquire(ctx, t.Name()); err != nil {
		t.Error(err)
	}
}

// What NATS denies one client says nothing of a request of another one that waits: the permission is younger than it.
func TestDenialOfAnother(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "auth.conf")
	permit := func(publish string) {
		config := fmt.Sprintf(`authorization { users: [
			{ user: node, password: x }
			{ user: c, password: x, permissions: { publish: { %s } } }
		] }`, publish)
		stand.Must(t, os.WriteFile(file, []byte(config), 0o600))
	}
	permit(`allow: ["holdfast.>"]`)
	node := stand.StartAlone(t, "--auth", file, "--user", "node", "--password", "x")
	holder := stand.Client(t, stand.Dial(t, node.URL, nats.UserInfo("node", "x")))
	nc := stand.Dial(t, node.URL, nats.UserInfo("c", "x"))
	waiter, denied := stand.Client(t, nc), stand.Client(t, nc, holdfast.Timeout(2*time.Second))
	mustGet(t, waiter, "k")
	mustGet(t, denied, "k")
	held := mustAcquire(t, holder, "k")
	acquired := make(chan error, 1)
	go func() {
		l, err := waiter.Acquire(testContext(t), "k", holdfast.TTL(time.Minute))
		if err == nil {
			err = l.Release(testContext(t))
		}
		acquired <- err
	}()
	stand.Eventually(t, "the waiter is queued", func() bool { return mustGet(t, holder, "k").Waiting == 1 })
	permit(`allow: ["holdfast.>"], deny: ["holdfast.acquire.>", "holdfast.shard.*.acquire.>"]`)
	node.Reload()
	if l, err := denied.TryAcquire(testContext(t), "k"); !errors.Is(err, holdfast.ErrUnavailable) && !errors.Is(err, holdfast.ErrUnknown) {
		t.Errorf("got %v, %v, want that it is denied", l, err)
	}
	select {
	case err := <-acquired:
		t.Fatalf("the waiter got %v", err)
	default:
	}
	mustRelease(t, held)
	if err := <-acquired; err != nil {
		t.Errorf("the waiter got %v", err)
	}
}

// A client that received no answers receives them when its user may, over a new connection.
func TestDeafClientHears(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "auth.conf")
	permit := func(subscribe string) {
		config := fmt.Sprintf(`authorization { users: [
			{ user: node, password: x }
			{ user: c, password: x, permissions: { publish: "holdfast.>", subscribe: %q } }
		] }`, subscribe)
		stand.Must(t, os.WriteFile(file, []byte(config), 0o600))
	}
	permit("elsewhere")
	node := stand.StartAlone(t, "--auth", file, "--user", "node", "--password", "x")
	nc, err := holdfast.Connect(node.URL, nats.UserInfo("c", "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := stand.Client(t, nc, holdfast.Timeout(forEver))
	_, err = c.Get(testContext(t), "a")
	wantReason(t, err, holdfast.ReasonPermission, "for Subscription to")
	node.Stop()
	permit("_INBOX.>")
	node.Restart()
	stand.Eventually(t, "the client learns it", func() bool {
		_, err := c.Get(testContext(t), "a")
		return err == nil
	})
}
