package access

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// In the layouts for verified users, the owner of a lease is the user who has logged in.
func TestVerifiedUsers(t *testing.T) {
	t.Parallel()
	for layout, prefix := range map[string]string{"import": "locks", "accounts": "holdfast"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			key := stand.Value(nkeys.CreateUser())(t)
			public := stand.Value(key.PublicKey())(t)
			args := []string{"deployment", "--layout", layout, "--shards", "2"}
			if layout == "accounts" {
				args = append(args, "--verified-users")
			}
			s, err := server.Start(t.Context(), server.Config{
				Config: node.Config{Name: "n1", Identity: identity.User, Shards: 2, Log: slog.New(slog.DiscardHandler)},
				Alone:  true, Login: []nats.Option{nats.Nkey(public, key.Sign)},
				Embedded: embedded.Config{ConfigFile: stand.NATSConfig(t,
					"NODE_NKEY: "+public+"\n"+printed(t, args...))},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Stop() }()
			nc := stand.Dial(t, s.ClientURL(), nats.UserInfo("orders", password),
				nats.CustomInboxPrefix("_INBOX.orders"))
			if r := ask(t, nc, prefix+".acquire.a", `{"ttl_ms":60000}`); r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetOwner() != "orders" {
				t.Errorf("got %v", r)
			}
			if r := ask(t, nc, prefix+".acquire.b", `{"owner":"bob","ttl_ms":60000}`); r.GetStatus() != messages.Status_INVALID {
				t.Errorf("another owner: got %v", r)
			}
		})
	}
}

// This is why exports are listed by operation: one of everything below the prefix carries messages of nodes and events,
// too.
func TestWideExport(t *testing.T) {
	t.Parallel()
	s := stand.StartNATS(t, embeddedConfig(t, `accounts {
		NODES { users: [ { user: ear, password: pw } ], exports: [ { service: "holdfast.>" } ] }
		ORDERS { users: [ { user: orders, password: pw } ], imports: [ { service: { account: NODES, subject: "holdfast.>" } } ] }
	}`))
	heard := stand.Value(s.Connect(t, nats.UserInfo("ear", password)).SubscribeSync("holdfast.>"))(t)
	orders := s.Connect(t, nats.UserInfo("orders", password))
	for _, subject := range []string{"holdfast.node.~announce.n9", "holdfast.event.people.1"} {
		stand.Eventually(t, "a message on "+subject+" goes through", func() bool {
			stand.Must(t, orders.Publish(subject, nil))
			m, err := heard.NextMsg(100 * time.Millisecond)
			return err == nil && m.Subject == subject
		})
	}
}
