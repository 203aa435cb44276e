package access

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// tenants is the printed configuration of two tenants.
func tenants(t *testing.T) string {
	t.Helper()
	return printed(t, "deployment", "--layout", "tenants", "--shards", "1", "--application", "ORDERS", "--application",
		"PEOPLE")
}

// An application reaches the subjects below its own name only, and says nothing about it.
func TestTenantsAreMapped(t *testing.T) {
	t.Parallel()
	s := stand.StartNATS(t, embeddedConfig(t, tenants(t)))
	node := s.Connect(t, nats.UserInfo("holdfast", password))
	stand.Value(node.Subscribe("holdfast.>", func(m *nats.Msg) {
		if m.Reply != "" {
			_ = m.Respond([]byte(m.Subject))
		}
	}))(t)
	stand.Must(t, node.Flush())
	orders := s.Connect(t, nats.UserInfo("orders", password), nats.CustomInboxPrefix("_INBOX.orders"))
	for subject, want := range map[string]string{
		"holdfast.acquire.a":         "holdfast.tenant.ORDERS.acquire.a",
		"holdfast.shard.0.extend.a":  "holdfast.tenant.ORDERS.shard.0.extend.a",
		"holdfast.info":              "holdfast.tenant.ORDERS.info",
		"holdfast.shard.0.keep.abcd": "holdfast.tenant.ORDERS.shard.0.keep.abcd",
	} {
		m, err := orders.Request(subject, nil, patience)
		if err != nil || string(m.Data) != want {
			t.Errorf("%s arrived as %v, %v, want %s", subject, m, err, want)
		}
	}
	events, err := orders.SubscribeSync("holdfast.event.a")
	if err == nil {
		err = orders.Flush()
	}
	if err == nil {
		err = node.Publish("holdfast.tenant.PEOPLE.event.a", []byte("of another"))
	}
	if err == nil {
		err = node.Publish("holdfast.tenant.ORDERS.event.a", []byte("its own"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if m, err := events.NextMsg(patience); err != nil || string(m.Data) != "its own" {
		t.Errorf("got the event %v, %v", m, err)
	}
}

// NATS refuses a configuration in which an account imports the subjects or the events of another.
func TestImportOfAnotherTenant(t *testing.T) {
	t.Parallel()
	conf := tenants(t)
	for _, imported := range []string{"acquire.>", "event.>"} {
		changed := strings.Replace(conf, `subject: "holdfast.tenant.PEOPLE.`+imported+`"`,
			`subject: "holdfast.tenant.ORDERS.`+imported+`"`, 1)
		if changed == conf {
			t.Fatalf("no import of %s in:\n%s", imported, conf)
		}
		cfg := embeddedConfig(t, changed)
		cfg.Name = "n1"
		if s, err := embedded.Start(cfg); err == nil {
			s.Shutdown()
			t.Errorf("%s of another account is imported", imported)
		}
	}
}

// With the printed configuration each tenant has locks of its own, and the operator of tenants sees and breaks those of
// all.
func TestTenants(t *testing.T) {
	t.Parallel()
	d := deploy(t, tenants(t), 1, 1, "ORDERS", "PEOPLE")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	orders, people := stand.Client(t, d.connect("orders")), stand.Client(t, d.connect("people"))
	lock := stand.Value(orders.Acquire(ctx, "a", holdfast.TTL(time.Hour)))(t)
	other := stand.Value(people.Acquire(ctx, "a", holdfast.TTL(time.Hour)))(t)
	granted := make(chan error, 1)
	go func() {
		_, err := orders.Acquire(ctx, "a", holdfast.TTL(time.Hour))
		granted <- err
	}()
	const session = "0123456789abcdef"
	in := fmt.Sprintf(`{"owner":"in","ttl_ms":60000,"session":%q}`, session)
	nc := d.connect("orders")
	for _, test := range []struct {
		subject, body string
		want          messages.Status
	}{
		{"holdfast.acquire.in", in, messages.Status_GRANTED},
		{"holdfast.keep." + session, `{"ttl_ms":60000}`, messages.Status_EXTENDED},
		{"holdfast.end." + session, "", messages.Status_RELEASED},
		{"holdfast.get.in", "", messages.Status_FREE},
	} {
		if r := ask(t, nc, test.subject, test.body); r.GetStatus() != test.want {
			t.Errorf("%s: got %v, want %s", test.subject, r, test.want)
		}
	}
	if r := ask(t, d.connect("people"), "holdfast.keep."+session, `{"ttl_ms":60000}`); r.GetStatus() != messages.Status_NOT_HELD {
		t.Errorf("a session of another tenant is kept: %v", r)
	}
	stand.Eventually(t, "a request waits", func() bool { return ask(t, nc, "holdfast.get.a", "").GetWaiting() == 1 })
	d.command(operators, "ls", "--tenant", "*")(0, `(?s)ORDERS.*PEOPLE`)
	d.command(operators, "get", "a", "--tenant", "ORDERS")(0, `^held: a .* 1 waiting`)
	d.command(operators, "break", "a", "--tenant", "ORDERS", "--token", fmt.Sprint(lock.Token()))(0, `^broke`)
	select {
	case <-lock.Context().Done(): // the event has come through the import
	case <-ctx.Done():
		t.Error("the holder does not learn of the break")
	}
	if err := <-granted; err != nil {
		t.Error(err)
	}
	if err := other.Context().Err(); err != nil {
		t.Errorf("the lock of the other tenant is lost: %v", err)
	}
	d.command(operators, "acquire", "b")(5, `does not permit this user to acquire`)
	d.command("orders", "break", "a", "--token", "2")(5, `does not permit this user to break`)
	d.command("people", "ls")(5, `does not permit this user to list`)
	for _, subject := range []string{"holdfast.event.a", "holdfast.tenant.PEOPLE.acquire.a", "holdfast.node.a",
		"$KV.HOLDFAST_0.a"} {
		before := d.violations("orders")
		stand.Must(t, nc.Publish(subject, nil))
		stand.Eventually(t, subject+" is refused", func() bool { return d.violations("orders") > before })
	}
	d.wantNoViolation("holdfast")
}

// operators is the user that sees the locks of all tenants.
const operators = "tenant-operator"

// A printed deployment is a file of logins for the NATS server of a node, without other settings.
func TestPrintedLogins(t *testing.T) {
	t.Parallel()
	for layout, tenants := range map[string]map[string]node.TenantLimits{"single": nil, "accounts": nil,
		"tenants": {"ORDERS": {}}} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			out, errs, code := run(t, nil, "access", "deployment", "--layout", layout, "--shards", "1")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			file := filepath.Join(t.TempDir(), "auth.conf")
			stand.Must(t, os.WriteFile(file, []byte(variable.ReplaceAllString(out, password)), 0o600))
			s := stand.Value(server.Start(t.Context(), server.Config{
				Config:   node.Config{Name: "n1", Shards: 1, Tenants: tenants, Log: slog.New(slog.DiscardHandler)},
				Login:    []nats.Option{nats.UserInfo("holdfast", password)},
				Embedded: embedded.Config{Listen: "127.0.0.1:-1", DataDir: t.TempDir(), AuthFile: file},
			}))(t)
			t.Cleanup(func() {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			})
			nc := stand.Dial(t, s.ClientURL(), nats.UserInfo("orders", password),
				nats.CustomInboxPrefix("_INBOX.orders"))
			if _, err := stand.Client(t, nc).Acquire(t.Context(), "a", holdfast.NoRenewal()); err != nil {
				t.Error(err)
			}
		})
	}
}
