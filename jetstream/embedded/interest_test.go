package embedded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

const twoAccounts = `
accounts {
  LOCKS: { jetstream: enabled, users: [{user: node, password: node}], exports: [{stream: "holdfast.event.>"}] }
  APP: { users: [{user: app, password: app}], imports: [{stream: {account: LOCKS, subject: "holdfast.event.>"}}] }
}`

func mustInterest(t *testing.T, s *embedded.Server, opts ...nats.Option) func(string) bool {
	t.Helper()
	interest, err := s.Interest(jstest.MustConnect(t, s, opts...))
	if err != nil {
		t.Fatal(err)
	}
	return interest
}

// wantInterest checks that a subject has a subscriber only while a client has subscribed to the filter.
func wantInterest(t *testing.T, interest func(string) bool, nc *nats.Conn, filter, subject string) {
	t.Helper()
	if interest(subject) {
		t.Errorf("%s has a subscriber before the first one", subject)
	}
	sub, err := nc.SubscribeSync(filter)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	if !interest(subject) {
		t.Errorf("%s has no subscriber, but a client has subscribed to %s", subject, filter)
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if interest(subject) {
		t.Errorf("%s has a subscriber after the last one", subject)
	}
}

func TestInterest(t *testing.T) {
	t.Parallel()
	t.Run("Own", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStart(t)
		interest := mustInterest(t, s)
		for _, filter := range []string{"holdfast.event.orders.42", "holdfast.event.orders.*", "holdfast.>"} {
			wantInterest(t, interest, jstest.MustDial(t, s.ClientURL()), filter, "holdfast.event.orders.42")
		}
	})
	t.Run("OtherAccount", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStartFile(t, jstest.GoodConfig+twoAccounts)
		interest := mustInterest(t, s, jstest.User("node"))
		app := jstest.MustConnect(t, s, jstest.User("app"))
		wantInterest(t, interest, app, "holdfast.event.orders.>", "holdfast.event.orders.42")
	})
	t.Run("Mapped", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStartFile(t, jstest.GoodConfig+"\nmappings { holdfast.event.orders.*: locks.$1 }")
		if mustInterest(t, s) != nil {
			t.Error("the server knows who gets a message, though its subject is mapped")
		}
	})
	t.Run("MappedLater", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "auth.conf")
		mustLogins(t, file, "")
		s, err := embedded.Start(embedded.Config{
			Name: "n", Listen: "127.0.0.1:0", DataDir: t.TempDir(), AuthFile: file,
			Login: []nats.Option{jstest.User("node")}, Log: jstest.Quiet(),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Shutdown)
		interest := mustInterest(t, s, jstest.User("node"))
		wantInterest(t, interest, jstest.MustConnect(t, s, jstest.User("node")), "holdfast.event.orders.>",
			"holdfast.event.orders.42")
		mustLogins(t, file, "mappings: { holdfast.event.orders.*: locks.$1 }")
		if err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		if !interest("holdfast.event.orders.42") {
			t.Error("the server knows who gets a message, though its subject is mapped since a reload")
		}
	})
	t.Run("Gateway", func(t *testing.T) {
		t.Parallel()
		route := porttest.Free(t, 1)[0]
		s := jstest.MustStartFile(t, jstest.GoodConfig+fmt.Sprintf(`
			cluster { name: here, listen: %q, routes: ["nats://%s"] }
			gateway { name: here, listen: "127.0.0.1:-1" }`, route, route))
		if mustInterest(t, s) != nil {
			t.Error("the server knows who gets a message, though it has a gateway")
		}
	})
}

// mustLogins writes a file with the user node, and more about its account.
func mustLogins(t *testing.T, file, more string) {
	t.Helper()
	text := "accounts { LOCKS: { jetstream: enabled, users: [{user: node, password: node}]\n" + more + "\n} }"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A subscription on another member of the cluster counts too.
func TestInterestOfOtherMember(t *testing.T) {
	t.Parallel()
	m := jstest.MustMembers(t, 3)
	interest := mustInterest(t, m.Servers[0])
	nc := jstest.MustConnect(t, m.Servers[1])
	if _, err := nc.SubscribeSync("holdfast.event.>"); err != nil {
		t.Fatal(err)
	}
	jstest.WaitFor(t, "the other member's subscription", func() bool { return interest("holdfast.event.orders.42") })
}
