package main_test

import (
	"errors"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// rightsOf returns the permissions of a role, as holdfast access prints them for one shard.
func rightsOf(t *testing.T, args ...string) string {
	t.Helper()
	args = append(append([]string{"access"}, args...), "--inbox-prefix", "_INBOX", "--shards", "1")
	printed := run(t, args...)
	rights := regexp.MustCompile(`(?s)publish: \[.*?\].*?subscribe: \[.*?\]`).FindString(printed.stdout)
	if printed.code != 0 || rights == "" {
		t.Fatalf("%q: exit code %d: %s%s", args, printed.code, printed.stdout, printed.stderr)
	}
	return rights
}

// The permissions that docs/access.md shows are enough to hold locks below orders, and for nothing else.
func TestDocumentedPermissions(t *testing.T) {
	t.Parallel()
	page := stand.Value(os.ReadFile("../../docs/access.md"))(t)
	rights := regexp.MustCompile(`(?s)permissions: \{.*?\n    \}`).FindString(string(page))
	if !strings.Contains(rights, "holdfast.acquire.orders.>") {
		t.Fatalf("docs/access.md shows no permissions: %q", rights)
	}
	file := stand.NATSConfig(t, `
		authorization { users: [
			{ user: node, password: secret }
			{ user: app, password: pass, `+rights+` }
		] }`)
	p := serveWith(t, []string{"HOLDFAST_PASSWORD=secret"}, "--nats-config", file, "--user", "node")
	app := func(args ...string) result {
		return runWith(t, []string{"NATS_USER=app", "NATS_PASSWORD=pass", "NATS_URL=" + p.url}, args...)
	}
	app("lock", "orders.42", "-v", "--", "true").wantBoth(t, 0, `^$`,
		`^holdfast: acquired orders\.42: token 1\nholdfast: released orders\.42\n$`)
	app("acquire", "orders.42", "--owner", "me").want(t, 0, `token 2`)
	app("extend", "orders.42", "--owner", "me").want(t, 0, `token 2`)
	app("get", "orders.42").want(t, 0, `^held: `)
	app("break", "orders.42", "--token", "2").want(t, 5, `does not permit this user to break`)
	app("release", "orders.42", "--owner", "me").want(t, 0, `^released`)
	app("acquire", "people.7").want(t, 5, `does not permit this user to acquire`)
	app("bench", "--duration", "100ms", "--names", "orders.").wantBoth(t, 0, `^\d+ pairs of acquire and release in `,
		`^$`)
	app("bench", "--names", "people.").want(t, 5, `does not permit this user to acquire`)

	refusals := make(chan error, 16)
	nc := stand.Value(nats.Connect(p.url, nats.UserInfo("app", "pass"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err })))(t)
	defer nc.Close()
	for _, subject := range []string{
		"holdfast.event.orders.42", "holdfast.break.orders.42", "holdfast.shard.0.break.orders.42",
		"holdfast.confirm.orders.42",
		"holdfast.node.orders.42", "$KV.HOLDFAST_0.x", "$JS.API.INFO",
	} {
		stand.Must(t, nc.Publish(subject, []byte("{}")))
		stand.Must(t, nc.Flush())
		if err := <-refusals; !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
			t.Errorf("publishing on %s: %v", subject, err)
		}
	}
}

// With the permissions of the role node the page asks for nothing that its user may not.
func TestPermissionsOfThePage(t *testing.T) {
	t.Parallel()
	rights := rightsOf(t, "node")
	blind := strings.Replace(rights, `"$SRV.STATS.holdfast"`, `"x"`, 1)
	for name, test := range map[string]struct {
		rights string
		want   bool
	}{"AsPrinted": {rights, true}, "WithoutStatistics": {blind, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := stand.NATSConfig(t,
				`authorization { users: [{ user: node, password: secret, permissions: { `+test.rights+` } }] }`)
			p := serveWith(t, []string{"HOLDFAST_PASSWORD=secret"}, "--nats-config", file, "--user", "node", "--http",
				"127.0.0.1:0")
			url, log := p.http(t), func() string { return p.out.String() }
			for path, text := range map[string]string{
				"/": "All is well.", "/cluster": "1 node runs.", "/locks": "0 leases are shown.",
				"/locks?state=waited": "No request waits", "/lock?name=a": "The lock is free.", "/sessions": "No lease",
				"/events": "0 changes are shown.", "/deadlocks": "No owners",
			} {
				if code, body := stand.Fetch(t, url+path); code != http.StatusOK || !strings.Contains(body, text) {
					t.Errorf("%s: %d, without %q:\n%s", path, code, text, body)
				}
			}
			_, body := stand.Fetch(t, url)
			if got := !strings.Contains(body, "Not visible") && !strings.Contains(log(), "Violation"); got != test.want {
				t.Errorf("all is permitted: %v, want %v:\n%s\n%s", got, test.want, body, log())
			}
		})
	}
}
