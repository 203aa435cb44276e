package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

func TestBreak(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "break", "orders.42", "--token", "1").want(t, 4, `^not held: nobody holds orders\.42$`)
	p.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	p.holdfast(t, "break", "orders.42").want(t, 2, `^holdfast: --token is required: .*: holdfast get orders\.42$`)
	p.holdfast(t, "break", "orders.42", "--token", "2").want(t, 4,
		`^stale token: orders\.42 is held by "me", token 1, `)
	p.holdfast(t, "break", "orders.42", "--token", "000000000000001", "--reason", "it hangs").want(t, 0,
		`^broke the lock on orders\.42$`)
	p.holdfast(t, "break", "orders.42", "--token", "1").want(t, 0, `^broke the lock on orders\.42$`)
	p.holdfast(t, "extend", "orders.42", "--owner", "me").want(t, 4, `^expired: `)
	p.holdfast(t, "get", "orders.42").want(t, 0, `^free: orders\.42, last token 1$`)
	p.holdfast(t, "acquire", "orders.42", "--owner", "you").want(t, 0, `token 2`)
	p.holdfast(t, "break", "orders.42", "--token", "1", "--json").want(t, 4,
		`^\{"status":"STALE_TOKEN","lease":\{.*"owner":"you","token":"2",`)
	p.holdfast(t, "break", "orders.42", "--token", "2", "--json").want(t, 0, `^\{"status":"RELEASED"`)
	p.holdfast(t, "break", "people.7", "--token", "1", "--json").want(t, 4, `^\{"status":"NOT_HELD"`)
}

// wait1 makes one more request wait for a resource that is held, and returns what will come of it.
func (p *process) wait1(t *testing.T, resource string) <-chan result {
	t.Helper()
	granted := make(chan result, 1)
	go func() { granted <- p.holdfast(t, "acquire", resource, "--owner", "waiter", "--wait", "10m") }()
	p.waitForQueue(t, resource, 1)
	return granted
}

// rows returns the lines of a table, each with one space between its columns.
func rows(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return lines
}

func wantRows(t *testing.T, r result, patterns ...string) {
	t.Helper()
	got := rows(r.stdout)
	if r.code != 0 || r.stderr != "" || len(got) != len(patterns) {
		t.Fatalf("%q: exit code %d, %d lines, wanted %d\nstdout: %s\nstderr: %s", r.args, r.code, len(got),
			len(patterns), r.stdout, r.stderr)
	}
	for i, pattern := range patterns {
		if !regexp.MustCompile("^" + pattern + "$").MatchString(got[i]) {
			t.Errorf("%q: line %d is %q, wanted /%s/", r.args, i+1, got[i], pattern)
		}
	}
}

const titles = "RESOURCE OWNER TOKEN LEFT WAITING"

func TestList(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "3")
	p.holdfast(t, "ls").want(t, 0, `^no locks are held$`)
	p.holdfast(t, "ls", "--json").wantNothing(t)
	for _, name := range []string{"b.2", "a.1", "b.1", "c", "b.1.x", "document:123", "a b", "..", "漢字"} {
		p.holdfast(t, "acquire", name, "--owner", "me", "--ttl", "24h").want(t, 0, `token 1`)
	}
	p.holdfast(t, "release", "c", "--owner", "me").want(t, 0, `^released`)
	p.holdfast(t, "acquire", "a.1", "--owner", "waiter", "--wait", "10ms").want(t, 3, `^timed out`)
	row := func(name string) string { return regexp.QuoteMeta(name) + ` me 1 23h\S+ 0` }
	t.Run("InOrder", func(t *testing.T) {
		t.Parallel()
		wantRows(t, p.holdfast(t, "ls"), titles, row(".."), row(`"a b"`), row("a.1"), row("b.1"), row("b.1.x"),
			row("b.2"),
			row("document:123"), row("漢字"))
		wantRows(t, p.holdfast(t, "list", ">", "--limit", "2"), titles, `.* me 1 23h\S+ 0`, `.* me 1 23h\S+ 0`)
	})
	t.Run("Pattern", func(t *testing.T) {
		t.Parallel()
		wantRows(t, p.holdfast(t, "ls", "b.*"), titles, row("b.1"), row("b.2"))
		wantRows(t, p.holdfast(t, "ls", "b.>"), titles, row("b.1"), row("b.1.x"), row("b.2"))
		wantRows(t, p.holdfast(t, "ls", "*.1"), titles, row("a.1"), row("b.1"))
		wantRows(t, p.holdfast(t, "ls", "a.1"), titles, row("a.1"))
		wantRows(t, p.holdfast(t, "ls", "document:123"), titles, row("document:123"))
		wantRows(t, p.holdfast(t, "ls", "a b"), titles, row(`"a b"`))
		wantRows(t, p.holdfast(t, "ls", ".."), titles, row(".."))
		p.holdfast(t, "ls", "c").want(t, 0, `^no locks are held that match c$`)
		p.holdfast(t, "ls", "a:b.*").want(t, 0, `^no locks are held that match a:b\.\*$`)
	})
	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		names := resourcesOf(t, p.holdfast(t, "ls", "b.>", "--json"))
		if slices.Sort(names); !slices.Equal(names, []string{"b.1", "b.1.x", "b.2"}) {
			t.Errorf("listed %q", names)
		}
		if n := len(resourcesOf(t, p.holdfast(t, "ls", "--json", "--limit", "4"))); n != 4 {
			t.Errorf("%d with --limit 4", n)
		}
	})
}

// resourcesOf returns what a listing in JSON names.
func resourcesOf(t *testing.T, r result) []string {
	t.Helper()
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("%q: exit code %d, stderr: %s", r.args, r.code, r.stderr)
	}
	var names []string
	for line := range strings.Lines(r.stdout) {
		var l messages.Lease
		if err := messages.DecodeReply(messages.JSON, []byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.GetFence() == "" || l.GetOwner() == "" || l.GetRemainingMs() == 0 {
			t.Errorf("not a whole lease: %s", line)
		}
		names = append(names, l.GetResource())
	}
	return names
}

func (r result) wantNothing(t *testing.T) {
	t.Helper()
	if r.code != 0 || r.stdout+r.stderr != "" {
		t.Errorf("holdfast %q: exit code %d\nstdout: %s\nstderr: %s", r.args, r.code, r.stdout, r.stderr)
	}
}

func TestListOfWhoWaits(t *testing.T) {
	t.Parallel()
	file := stand.NATSConfig(t, `
		server_name: from-file
		authorization { users: [
			{ user: node, password: secret }
			{ user: lister, password: pass, permissions: { publish: ["holdfast.list"], subscribe: ["_INBOX.>"] } }
			{ user: app, password: pass, permissions: { publish: ["holdfast.get.>"], subscribe: ["_INBOX.>"] } }
		] }`)
	p := serveWith(t, []string{"HOLDFAST_PASSWORD=secret"}, "--nats-config", file, "--user", "node")
	as := func(user, password string, args ...string) result {
		t.Helper()
		return p.holdfast(t, append(args, "--user", user, "--password", password)...)
	}
	as("node", "secret", "acquire", "orders.42", "--owner", "me\u202e", "--ttl", "10m").want(t, 0, `token 1`)
	nc := stand.Dial(t, strings.Replace(p.url, "//", "//node:secret@", 1))
	acquire(t, nc, "orders.42", `{"owner":"you","ttl_ms":60000,"wait_ms":600000}`)
	stand.Eventually(t, "it waits", func() bool {
		return strings.HasSuffix(rows(as("node", "secret", "ls").stdout)[1], " 1")
	})
	wantRows(t, as("node", "secret", "ls"), titles, `orders\.42 "me\\u202e" 1 9m\S+ 1`)
	wantRows(t, as("lister", "pass", "ls"), titles, `orders\.42 "me\\u202e" 1 9m\S+ 1`)
	as("app", "pass", "ls").want(t, 5,
		`^holdfast: the NATS server at .* does not permit this user to list: .*Publish to "holdfast\.list"`)
}

// acquire asks for a lock and returns where the answer comes.
func acquire(t *testing.T, nc *nats.Conn, resource, request string) *nats.Subscription {
	t.Helper()
	answer := stand.Value(nc.SubscribeSync(nc.NewInbox()))(t)
	stand.Must(t, nc.PublishRequest("holdfast.acquire."+resource, answer.Subject, []byte(request)))
	return answer
}

func granted(t *testing.T, answer *nats.Subscription) {
	t.Helper()
	m := stand.Value(answer.NextMsg(bound))(t)
	if !strings.Contains(string(m.Data), `"GRANTED"`) {
		t.Fatalf("not granted: %s", m.Data)
	}
}

// Each limit refuses what goes beyond it, and says which it is.
func TestLimitsOfANode(t *testing.T) {
	t.Run("Held", func(t *testing.T) {
		t.Parallel()
		p := serve(t, "--max-held", "2")
		p.holdfast(t, "acquire", "a", "--owner", "me").want(t, 0, `token 1`)
		p.holdfast(t, "acquire", "b", "--owner", "me").want(t, 0, `token 1`)
		p.holdfast(t, "acquire", "c", "--owner", "me").want(t, 5,
			`^holdfast: overloaded: held: 2 leases are held on this node`)
		p.holdfast(t, "acquire", "c", "--owner", "me", "--json").want(t, 5, `^\{"status":"OVERLOADED","error":"held: `)
		p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, `^released`)
		p.holdfast(t, "acquire", "c", "--owner", "me").want(t, 0, `token 1`)
	})
	t.Run("Waiting", func(t *testing.T) {
		t.Parallel()
		p := serveWith(t, []string{"HOLDFAST_MAX_WAITING=1"}, "--listen", "127.0.0.1:0")
		p.holdfast(t, "acquire", "a", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
		p.holdfast(t, "acquire", "b", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
		waiting := p.wait1(t, "a")
		p.holdfast(t, "acquire", "b", "--owner", "you", "--wait", "10m").
			want(t, 5, `^holdfast: overloaded: waiting: 1 requests wait on this node`)
		p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, `^released`)
		(<-waiting).want(t, 0, `^acquired a: token 2`)
	})
	t.Run("Queue", func(t *testing.T) {
		t.Parallel()
		p := serve(t, "--max-queue", "1")
		p.holdfast(t, "acquire", "a", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
		waiting := p.wait1(t, "a")
		p.holdfast(t, "acquire", "a", "--owner", "you", "--wait", "10m").
			want(t, 5, `^holdfast: overloaded: .*"a": 1 requests wait already`)
		p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, `^released`)
		(<-waiting).want(t, 0, `^acquired a: token 2`)
	})
	t.Run("Rate", func(t *testing.T) {
		t.Parallel()
		file := t.TempDir() + "/holdfast.yaml"
		write(t, file, "max-rate: 1\nlisten: 127.0.0.1:0\n")
		p := serveWith(t, nil, "--config", file)
		nc := stand.Dial(t, p.url)
		// A flood keeps the node at its limit, however slowly this machine starts the command.
		flood := nats.NewMsg("holdfast.get.a")
		flood.Reply = nc.NewInbox()
		stand.Eventually(t, "the rate is too high", func() bool {
			stand.Must(t, nc.PublishMsg(flood))
			r := p.holdfast(t, "get", "a")
			return r.code == 5 && strings.HasPrefix(r.stderr,
				"holdfast: overloaded: rate: 1 requests a second is all that this node takes")
		})
	})
	t.Run("Memory", func(t *testing.T) {
		t.Parallel()
		p := serve(t, "--max-remembered", "1", "--history", "1")
		p.holdfast(t, "acquire", "a", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
		p.holdfast(t, "extend", "a", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	})
}
