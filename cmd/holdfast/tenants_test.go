package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// serveTenants starts a server with the tenants ORDERS and BILLING. Operators have the only account.
func serveTenants(t *testing.T) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	stand.Must(t, os.WriteFile(file, []byte("ORDERS: {}\nBILLING: {}\n"), 0o600))
	return serveWith(t, nil, "--nats-config", stand.NATSConfig(t, ""), "--tenants", file, "--shards", "2")
}

// of returns the flag that has a command act for a tenant as its own clients do.
func of(tenant string) string { return "--prefix=" + string(messages.DefaultPrefix.Tenant(tenant)) }

// An operator sees and changes the locks of a tenant, and locks of the same name are not confused.
func TestOperatorOfTenants(t *testing.T) {
	t.Parallel()
	p := serveTenants(t)
	p.holdfast(t, "acquire", "orders.1", "--owner", "own", "--ttl", "1h").want(t, 0, `token 1`)
	for _, tenant := range []string{"ORDERS", "BILLING"} {
		p.holdfast(t, "acquire", "orders.1", of(tenant), "--owner", tenant, "--ttl", "1h").want(t, 0, `token 1`)
	}
	p.holdfast(t, "acquire", "other", of("BILLING"), "--owner", "b", "--ttl", "1h", "--confirm").want(t, 0, `token 1`)

	wantRows(t, p.holdfast(t, "ls"), `RESOURCE +OWNER +TOKEN +LEFT +WAITING`, `orders\.1 +own +1 .*`)
	wantRows(t, p.holdfast(t, "ls", "--tenant", "ORDERS"), `RESOURCE +TENANT +OWNER +TOKEN +LEFT +WAITING`,
		`orders\.1 +ORDERS +ORDERS +1 \S+ +0`)
	wantRows(t, p.holdfast(t, "ls", "orders.*", "--tenant", "*"), `RESOURCE .*`,
		`orders\.1 +own +1 +\S+ +0`, `orders\.1 +BILLING +BILLING +1 +\S+ +0`, `orders\.1 +ORDERS +ORDERS +1 +\S+ +0`)
	p.holdfast(t, "ls", "--tenant", "NONE").want(t, 0, `^no locks of tenant NONE are held$`)
	p.holdfast(t, "ls", "--tenant", "a.b").want(t, 2,
		`^holdfast: --tenant: the name of an account without dots, wildcards and spaces, got "a\.b"$`)
	p.holdfast(t, "ls", of("ORDERS"), "--tenant", "*").want(t, 2,
		`^holdfast: invalid: tenant: none in a request of a tenant, got one$`)

	p.holdfast(t, "get", "orders.1", "--tenant", "ORDERS").want(t, 0, `^held: orders\.1 by "ORDERS", token 1, `)
	p.holdfast(t, "get", "orders.1", "--tenant", "*").want(t, 2, `^holdfast: --tenant: the name of an account`)
	p.holdfast(t, "get", "orders.1", "--tenant", "NONE", "--timeout", "1s").
		want(t, 5,
			`^holdfast: no Holdfast node serves tenant NONE at \S+, though NATS does: holdfast\.tenant\.NONE\.get\.orders\.1 has no subscriber; add the account to the file of holdfast serve --tenants, or check --tenant and --prefix$`)
	p.holdfast(t, "break", "orders.1", "--tenant", "ORDERS").want(t, 2,
		`find it with: holdfast get orders\.1 --tenant ORDERS$`)
	p.holdfast(t, "leader", "orders.1", "--tenant", "BILLING").want(t, 0, `"BILLING" leads orders\.1, token 1`)

	watch := start(t, "watch", "orders.*", "--tenant", "*", "--json", "--server", p.url)
	position := readLine(t, watch.out.WaitFor(t, watch.done, `{"position":`)).Position
	p.holdfast(t, "break", "orders.1", "--token", "1", "--tenant", "ORDERS", "--reason", "it hangs").want(t, 0,
		`^broke the lock on orders\.1$`)
	if e := eventIn(t, watch.out.WaitFor(t, watch.done, `"BROKEN"`)); e.GetLease().GetTenant() != "ORDERS" || e.GetLease().GetResource() != "orders.1" {
		t.Errorf("shown: %v", e)
	}
	watch.signal(t, syscall.SIGINT)
	watch.wait(t)
	wantLines(t, p.holdfast(t, "watch", "--tenant", "ORDERS", "--position", position, "--count", "1"),
		`broken orders\.1 of tenant ORDERS by "ORDERS", token 1, held \S+, reason "it hangs"`)
	p.holdfast(t, "get", "orders.1", "--tenant", "BILLING").want(t, 0, `^held: `)
	p.holdfast(t, "get", "orders.1").want(t, 0, `^held: `)

	wantLines(t, p.holdfast(t, "history", "orders.1"), `acquired orders\.1 by "own", token 1, lease 1h`)
	wantLines(t, p.holdfast(t, "history", "orders.1", "--tenant", "ORDERS"),
		`acquired orders\.1 of tenant ORDERS by "ORDERS", token 1, lease 1h`,
		`broken orders\.1 of tenant ORDERS by "ORDERS", token 1, held \S+, reason "it hangs"`)
	p.holdfast(t, "history", "other", "--tenant", "ORDERS").want(t, 0,
		`^the journal has no changes of other of tenant ORDERS$`)

	p.holdfast(t, "break", "other", "--token", "1", "--tenant", "BILLING").want(t, 0, `^broke `)
	wantRows(t, p.holdfast(t, "ls", "--held-back", "--tenant", "*"), `RESOURCE .*`,
		`other +BILLING +b +1 +unconfirmed +0`)
	p.holdfast(t, "confirm", "other", "--token", "2", "--tenant", "BILLING").
		want(t, 4, `^stale token: no lost lease of other has this token; see: holdfast get other --tenant BILLING$`)
	p.holdfast(t, "confirm", "other", "--token", "1", "--tenant", "BILLING").want(t, 0,
		`^confirmed the end of the lease on other$`)
}

// Owners of one name in two tenants are two owners: only a circle within a tenant is a deadlock.
func TestDeadlocksOfTenants(t *testing.T) {
	t.Parallel()
	p := serveTenants(t)
	wait := func(tenant, resource, owner string) {
		start(t, "acquire", resource, of(tenant), "--owner", owner, "--wait", "1h", "--server", p.url)
	}
	for tenant, held := range map[string]map[string]string{"ORDERS": {"r": "a", "s": "b"}, "BILLING": {"r": "a"}} {
		for resource, owner := range held {
			p.holdfast(t, "acquire", resource, of(tenant), "--owner", owner, "--ttl", "1h").want(t, 0, `token 1`)
		}
	}
	wait("BILLING", "r", "b")
	wait("ORDERS", "s", "a")
	stand.Eventually(t, "both wait", func() bool {
		return strings.Count(p.holdfast(t, "ls", "--tenant", "*", "--waiters").stdout, "  waits") == 2
	})
	p.holdfast(t, "deadlocks", "--tenant", "*").want(t, 0, `^no deadlocks$`)
	p.holdfast(t, "deadlocks", "--tenant", "ORDERS").want(t, 0, `^no deadlocks among the locks of tenant ORDERS$`)
	wait("ORDERS", "r", "b")
	stand.Eventually(t, "the deadlock is found", func() bool {
		return p.holdfast(t, "deadlocks", "--tenant", "*").code == 3
	})
	shown := regexp.MustCompile(`^deadlock of tenant ORDERS:
  "a" waits for s, which "b" holds: .*
  "b" waits for r, which "a" holds: .*
  to end it, break one of these leases, as in: holdfast break s --token 1 --tenant ORDERS
$`)
	if text := p.holdfast(t, "deadlocks", "--tenant", "*").stdout; !shown.MatchString(text) {
		t.Errorf("shown:\n%s", text)
	}
	found := p.holdfast(t, "doctor")
	if !strings.Contains(found.stdout, "deadlock of tenant ORDERS: ") ||
		!strings.Contains(found.stdout, "holdfast break s --token 1 --tenant ORDERS") {
		t.Errorf("the doctor says\n%s", found.stdout)
	}
}

// The locks of tenants are in a backup, and are restored into another number of shards.
func TestBackupOfTenants(t *testing.T) {
	t.Parallel()
	p := serveTenants(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		p.holdfast(t, "acquire", name, "--owner", "own", "--ttl", "24h").want(t, 0, `token 1`)
		p.holdfast(t, "acquire", name, of("ORDERS"), "--owner", "orders", "--ttl", "24h").want(t, 0, `token 1`)
	}
	p.holdfast(t, "release", "e", of("ORDERS"), "--owner", "orders").want(t, 0, `^released`)
	file, data := filepath.Join(t.TempDir(), "locks.backup"), t.TempDir()
	p.holdfast(t, "backup", file).want(t, 0, `: 9 leases held, the tokens of 1 resource that are free$`)
	run(t, "restore", file, "--data", data, "--shards", "3").wantBoth(t, 0,
		`(?s)^restored the backup of .*9 leases held.*now in 3 shards`, `^$`)

	restored := serve(t, "--data", data)
	wantRows(t, restored.holdfast(t, "ls", "--tenant", "ORDERS"), `RESOURCE .*`,
		`a +ORDERS +orders +1 .*`, `b +ORDERS +orders +1 .*`, `c +ORDERS +orders +1 .*`, `d +ORDERS +orders +1 .*`)
	wantRows(t, restored.holdfast(t, "ls"), `RESOURCE .*`, `a +own .*`, `b +own .*`, `c +own .*`, `d +own .*`,
		`e +own .*`)
}

// An agent stops the holders of a tenant, and leaves the losses of others alone.
func TestFenceAgentOfATenant(t *testing.T) {
	t.Parallel()
	p := serveTenants(t)
	dir := t.TempDir()
	p.lose(t, "early", of("ORDERS"), "--confirm") // found in a listing, unless the journal has it
	agent := p.fenceAgentIn(t, dir, `echo "$HOLDFAST_TENANT $HOLDFAST_RESOURCE" >> stopped`, "--tenant", "ORDERS")
	p.lose(t, "late", of("ORDERS"), "--confirm")
	p.lose(t, "late", of("BILLING"), "--confirm")
	p.lose(t, "late", "--confirm")
	for _, resource := range []string{"early", "late"} {
		agent.log.WaitFor(t, agent.done, "confirmed the loss of "+resource+" of tenant ORDERS by \"me\", token 1")
		p.holdfast(t, "get", resource, "--tenant", "ORDERS").want(t, 0, `^free: `)
	}
	stand.Eventually(t, "the others are held back", func() bool {
		return len(rows(p.holdfast(t, "ls", "--held-back", "--tenant", "*").stdout)) == 3
	})
	stopped, err := os.ReadFile(filepath.Join(dir, "stopped"))
	if text := string(stopped); err != nil || text != "ORDERS early\nORDERS late\n" &&
		text != "ORDERS late\nORDERS early\n" {
		t.Errorf("stopped %q, %v", stopped, err)
	}
	p.holdfast(t, "bench", "--tenant", "ORDERS", "--duration", "100ms", "--json").want(t, 0, `"failures":\[\]`)
}
