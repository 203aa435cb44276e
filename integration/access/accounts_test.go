package access

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

func embeddedConfig(t *testing.T, conf string) embedded.Config {
	t.Helper()
	return embedded.Config{ConfigFile: stand.NATSConfig(t, conf)}
}

// across is a deployment in accounts, with a user of each that has no permissions, and so may do what its account may.
func across(t *testing.T) *deployment {
	t.Helper()
	conf := printed(t, "deployment", "--layout", "accounts", "--shards", "2", "--application", "ORDERS",
		"--application", "PEOPLE")
	for account, user := range map[string]string{"HOLDFAST": "ear", "OPERATORS": "root", "ORDERS": "admin"} {
		before, after, ok := strings.Cut(conf, "  "+account+" {")
		if !ok {
			t.Fatalf("no account %s in:\n%s", account, conf)
		}
		conf = before + "  " + account + " {" + strings.Replace(after, "users: [",
			fmt.Sprintf("users: [ { user: %s, password: pw }", user), 1)
	}
	return deploy(t, conf, 2, 1)
}

// Across accounts everything works that the roles are for.
func TestAccounts(t *testing.T) {
	t.Parallel()
	d := across(t)
	orders, operator := stand.Client(t, d.connect("orders")), stand.Client(t, d.connect("operator"))
	lock := stand.Value(orders.Acquire(t.Context(), "orders.1", holdfast.TTL(time.Hour)))(t)
	if names := names(t, d.connect("operator")); len(names) != 1 || names[0] != "orders.1" {
		t.Errorf("an operator sees %q", names)
	}
	followed := make(chan error, 1)
	<-follow(t, d, "watcher", followed)
	stand.Must(t, operator.Break(t.Context(), "orders.1", lock.Token(), "enough"))
	if err := <-followed; err != nil {
		t.Error(err)
	}
	<-lock.Context().Done() // the event has come through the import
	if _, err := d.connect("metrics").Request("$SRV.STATS.holdfast", nil, patience); err != nil {
		t.Error(err)
	}
	d.wantNoViolation("holdfast")
}

// The operator sees replicas and how NATS stores, through imports, and the system account has a user.
func TestOperatorOfAccounts(t *testing.T) {
	t.Parallel()
	d := across(t)
	says := d.command("operator", "doctor", "--slow", "1m", "--timeout", "20s")
	says(3, `ok +replicas +2 buckets on 1 server each, all of them current`)
	says(3, `it syncs each write`)
	says(3, `ok +commits .* confirms on disk within`)
	says(3, `0 problems, 1 warning`) // of its own right to break
	d.wantNoViolation("operator")
	m, err := d.nats.Connect(t, nats.UserInfo("system", password)).Request("$SYS.REQ.SERVER.PING.JSZ", nil, patience)
	if err != nil || !strings.Contains(string(m.Data), `"store_dir"`) {
		t.Errorf("the system account gets %v, %v", m, err)
	}
}

// Applications that share the locks have names of their own, whatever their users may do in their accounts.
func TestNamesOfApplications(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"single", "import", "accounts"} {
		conf := printed(t, "deployment", "--layout", layout, "--application", "ORDERS", "--application",
			"PEOPLE=people.>,staff")
		for _, part := range []string{`holdfast.acquire.orders.>`, `holdfast.acquire.orders`,
			`holdfast.acquire.people.>`, `holdfast.acquire.staff`} {
			if part = strings.Replace(part, "holdfast",
				map[bool]string{true: "locks", false: "holdfast"}[layout == "import"], 1); !strings.Contains(conf, `"`+part+`"`) {
				t.Errorf("%s has no %s", layout, part)
			}
		}
	}
	d := across(t)
	admin := d.nats.Connect(t, nats.UserInfo("admin", password))
	if r := ask(t, admin, "holdfast.acquire.orders.1", `{"owner":"me","ttl_ms":1000}`); r.GetStatus() != messages.Status_GRANTED {
		t.Errorf("got %v", r)
	}
	if m, err := admin.Request("holdfast.acquire.people.1", []byte(`{"owner":"me","ttl_ms":1000}`), patience); err == nil {
		t.Errorf("the names of another application are granted: %s", m.Data)
	}
}

// follow watches until a break as a user. The channel that it returns is closed when the present holders are known.
func follow(t *testing.T, d *deployment, user string, end chan<- error) <-chan struct{} {
	t.Helper()
	begun := make(chan struct{})
	watcher := stand.Client(t, d.connect(user))
	go func() {
		for e, err := range watcher.Watch(t.Context(), ">", holdfast.Present()) {
			switch {
			case err != nil:
				end <- err
				return
			case e.Kind == holdfast.EventBookmark:
				close(begun)
			case e.Kind == holdfast.EventBroken:
				end <- nil
				return
			}
		}
	}()
	return begun
}

// What an account does not import does not reach the nodes, whatever its users may do there: messages of nodes, events,
// records, breaks, requests to JetStream. Nor does an answer of JetStream go where an account says.
func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	d := across(t)
	ear := d.nats.Connect(t, nats.UserInfo("ear", password))
	heard := listen(t, ear)
	const mark = "apart"
	for _, user := range []string{"admin", "root"} {
		nc := d.nats.Connect(t, nats.UserInfo(user, password))
		for _, subject := range []string{
			"holdfast.event.", "holdfast.node.~event.", "holdfast.node.~announce.", "holdfast.node.~door.1f.acquire.",
			"$KV.HOLDFAST_0.journal.",
			"$JS.API.STREAM.PURGE.KV_HOLDFAST_", "holdfast.shard.0.batch.", "payments.", "_INBOX.operator.", "_R_.",
		} {
			stand.Must(t, nc.Publish(subject+mark, []byte("{}")))
			for _, request := range []string{"holdfast.get.a", "holdfast.info", "holdfast.list",
				"$JS.API.STREAM.INFO.KV_HOLDFAST_0", "$SRV.STATS.holdfast"} {
				if err := nc.PublishRequest(request, subject+mark, nil); err != nil && !strings.HasPrefix(subject, "_R_") {
					t.Fatal(err)
				}
			}
		}
		if user == "admin" { // breaks are for operators
			if m, err := nc.Request("holdfast.break.a", []byte(`{"token":"1"}`), patience); err == nil {
				t.Errorf("a break of an application is answered: %s", m.Data)
			}
		}
		if r := ask(t, nc, "holdfast.get.orders.a", ""); r.GetStatus() != messages.Status_FREE {
			t.Errorf("got %v", r)
		}
	}
	heard.wantNone(mark, "in the account of the nodes there was a message on")
}
