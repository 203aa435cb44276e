package contract

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// watcher is a plain subscriber to events.
type watcher struct {
	testing.TB
	sub *nats.Subscription
}

func watch(tb testing.TB, nc *nats.Conn, subject string) *watcher {
	tb.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &watcher{tb, sub}
}

// next returns the next event, after it has checked that subject and headers say what the event does.
func (w *watcher) next() *messages.Event {
	w.Helper()
	m, err := w.sub.NextMsg(patience)
	if err != nil {
		w.Fatal(err)
	}
	return mustReadEvent(w, m.Subject, m.Header, m.Data)
}

func mustReadEvent(tb testing.TB, subject string, header nats.Header, data []byte) *messages.Event {
	tb.Helper()
	var e messages.Event
	if err := messages.DecodeReply(messages.JSON, data, &e); err != nil {
		tb.Fatalf("%s: %q: %v", subject, excerpt(data), err)
	}
	key, err := messages.EncodeKey(e.GetLease().GetResource())
	if err != nil || subject != "holdfast.event."+key {
		tb.Errorf("an event of %q came on %s (%v)", e.GetLease().GetResource(), subject, err)
	}
	for name, want := range map[string]string{
		"Holdfast-Event": e.GetKind().String(),
		"Fencing-Token":  fmt.Sprintf("%015d", e.GetLease().GetToken()),
		"Nats-Msg-Id":    fmt.Sprintf("%d.%d.%d", e.GetShard(), e.GetPosition(), e.GetIndex()),
	} {
		if got := header.Get(name); got != want {
			tb.Errorf("event on %s: %s is %q, want %q", subject, name, got, want)
		}
	}
	return &e
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	w := watch(t, s.Connect(), "holdfast.event.orders.*")
	const subject = ".orders.42"
	acquired := c.want(messages.Status_GRANTED, 1, "holdfast.acquire"+subject,
		`{"owner":"a","ttl_ms":60000,"metadata":{"job":"7"}}`).GetLease()
	c.want(messages.Status_EXTENDED, 1, "holdfast.extend"+subject, `{"owner":"a","ttl_ms":30000}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.release"+subject, `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, 2, "holdfast.acquire"+subject, `{"owner":"b","ttl_ms":60000}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.break"+subject, `{"token":2,"reason":"it hung"}`)
	c.want(messages.Status_GRANTED, 3, "holdfast.acquire"+subject, `{"owner":"c","ttl_ms":100}`)

	lease := func(owner string, token uint64, ttl, remaining uint32) *messages.Lease {
		return &messages.Lease{
			Resource: "orders.42", Owner: owner, Token: token, Fence: fmt.Sprintf("%015d", token), TtlMs: ttl,
			RemainingMs: remaining,
		}
	}
	first := acquired.GetMetadata()
	for i, want := range []*messages.Event{
		{Kind: messages.Event_ACQUIRED, Lease: lease("a", 1, 60000, 60000)},
		{Kind: messages.Event_EXTENDED, Lease: lease("a", 1, 30000, 30000)},
		{Kind: messages.Event_RELEASED, Lease: lease("a", 1, 30000, 0)},
		{Kind: messages.Event_ACQUIRED, Lease: lease("b", 2, 60000, 60000)},
		{Kind: messages.Event_BROKEN, Lease: lease("b", 2, 60000, 0), Reason: "it hung"},
		{Kind: messages.Event_ACQUIRED, Lease: lease("c", 3, 100, 100)},
		{Kind: messages.Event_EXPIRED, Lease: lease("c", 3, 100, 0)},
	} {
		got := w.next()
		if i < 3 {
			want.Lease.Metadata = first
		}
		if got.GetAtMs() == 0 || got.GetLease().GetAcquiredAtMs() == 0 {
			t.Errorf("event %d has no time: %v", i, got)
		}
		want.Shard, want.Position, want.Index, want.AtMs = got.GetShard(), got.GetPosition(), got.GetIndex(),
			got.GetAtMs()
		want.Lease.AcquiredAtMs = got.GetLease().GetAcquiredAtMs()
		if !proto.Equal(got, want) {
			t.Errorf("event %d\ngot  %v\nwant %v", i, got, want)
		}
		if shard := messages.ShardOf("orders.42", 4); got.GetShard() != shard {
			t.Errorf("event %d is of shard %d, want %d", i, got.GetShard(), shard)
		}
	}
}

// What is not committed is no event: reads, refusals, ephemeral leases, reservations.
func TestNoEvents(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	w := watch(t, s.Connect(), "holdfast.event.>")
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.x", `{"owner":"a","ttl_ms":60000,"durability":"EPHEMERAL"}`)
	c.want(messages.Status_HELD, 1, "holdfast.acquire.x", `{"owner":"b","ttl_ms":60000}`)
	c.want(messages.Status_HELD, 1, "holdfast.get.x", "")
	c.want(messages.Status_RELEASED, 0, "holdfast.release.x", `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, 0, "holdfast.acquire.x", `{"owner":"p","ttl_ms":60000}`)
	if e := w.next(); e.GetLease().GetOwner() != "p" {
		t.Errorf("got %v", e)
	}
}

// Names that a subject cannot hold come encoded, and wildcards select by level.
func TestEventSubjects(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	all, level, one := watch(t, s.Connect(), "holdfast.event.>"), watch(t, s.Connect(), "holdfast.event.a.*"),
		watch(t, s.Connect(), "holdfast.event.document=3A7")
	resources := []string{"document:7", "a.b", "a..b", "a.b.c", "caf\u00e9 *>", "a b"}
	for _, r := range resources {
		key := stand.Value(messages.EncodeKey(r))(t)
		c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+key, `{"owner":"a","ttl_ms":60000}`)
	}
	seen := make(map[string]bool)
	for range resources {
		seen[all.next().GetLease().GetResource()] = true
	}
	for _, r := range resources {
		if !seen[r] {
			t.Errorf("no event of %q", r)
		}
	}
	for _, want := range []string{"a.b", "a..b"} { // a..b is a.=2Eb: one level below a
		if got := level.next().GetLease().GetResource(); got != "a.b" && got != "a..b" {
			t.Errorf("got an event of %q, want one like %q", got, want)
		}
	}
	if got := one.next().GetLease().GetResource(); got != "document:7" {
		t.Errorf("got an event of %q", got)
	}
}

// Permissions of NATS are all that it takes to say who sees what.
func TestEventPermissions(t *testing.T) {
	t.Parallel()
	file := mustWriteUsers(t, `{ user: node, password: node }
		{ user: orders, password: orders, permissions: { publish: { deny: ">" }, subscribe: ["holdfast.event.orders.>"] } }`)
	login := nats.UserInfo("node", "node")
	s := stand.Start(t, stand.Config{ConfigFile: file, Login: login, Shards: 2})
	c := &client{t, s.Connect(login)}
	denied := make(chan error, 1)
	orders := s.Connect(nats.UserInfo("orders", "orders"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			select {
			case denied <- err:
			default:
			}
		}))
	stand.Value(orders.SubscribeSync("holdfast.event.>"))(t)
	if err := <-denied; !strings.Contains(err.Error(), "Permissions Violation") &&
		!strings.Contains(err.Error(), "permissions violation") {
		t.Errorf("subscribing to all events: %v", err)
	}
	w := watch(t, orders, "holdfast.event.orders.>")
	for _, r := range []string{"secret", "orders", "orders.1", "secret.1", "orders.2"} {
		c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+r, `{"owner":"a","ttl_ms":60000}`)
	}
	seen := map[string]bool{w.next().GetLease().GetResource(): true, w.next().GetLease().GetResource(): true}
	if !seen["orders.1"] || !seen["orders.2"] {
		t.Errorf("saw %v", seen)
	}
}

// A node that may not publish events locks on, says what it needs, and publishes nothing as done.
func TestNodeMayNotPublishEvents(t *testing.T) {
	t.Parallel()
	file := mustWriteUsers(t, `{ user: node, password: node, permissions: { publish: { deny: "holdfast.event.>" } } }`)
	login, log := nats.UserInfo("node", "node"), &logBook{}
	s := stand.Start(t, stand.Config{ConfigFile: file, Login: login, Shards: 1,
		Log: slog.New(slog.NewTextHandler(log, nil))})
	c := &client{t, s.Connect(login)}
	watch(t, c.nc, "holdfast.event.>") // without a subscriber nothing is published
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.x", `{"owner":"a","ttl_ms":60000}`)
	c.until("the log says what is wrong", func() bool {
		c.want(messages.Status_HELD, 1, "holdfast.get.x", "")
		return strings.Contains(log.String(), "the NATS user must be allowed to publish to holdfast.event.>")
	})
	stats := string(c.send(&nats.Msg{Subject: "$SRV.STATS.holdfast"}).Data)
	if !strings.Contains(stats, `"events":0`) || strings.Contains(stats, `"events_behind":0`) {
		t.Errorf("the statistics say %s", stats)
	}
}

// mustWriteUsers writes the configuration of a server with these users.
func mustWriteUsers(t *testing.T, users string) (file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "nats.conf")
	config := fmt.Sprintf(`
		listen: "127.0.0.1:-1"
		jetstream { store_dir: %q, sync_interval: always }
		authorization { users: [ %s ] }
	`, dir, users)
	stand.Must(t, os.WriteFile(file, []byte(config), 0o600))
	return file
}
