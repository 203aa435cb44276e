package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
)

// accounts is what a page shows of a deployment with accounts.
type accounts struct {
	url string
	// acquire is the command of the page that takes a lock, with its login.
	acquire []string
}

// serveAccounts starts a node with the files and by the command of a page: the NATS configuration that begins with
// accounts, and the tenants file if there is one.
func serveAccounts(t *testing.T, page string) *accounts {
	t.Helper()
	text := read(t, "../../docs/"+page)
	block := func(pattern string) string {
		m := regexp.MustCompile("(?ms)^```(?:yaml)?\n(" + pattern + ".*?)^```$").FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("docs/%s has no block that begins with %q", page, pattern)
		}
		return m[1]
	}
	dir := t.TempDir()
	seedFile, key := seed(t, newPair(t, nkeys.CreateUser))
	files := strings.NewReplacer("auth.conf", filepath.Join(dir, "auth.conf"), "node.nk", seedFile,
		"tenants.yaml", filepath.Join(dir, "tenants.yaml"))
	write(t, filepath.Join(dir, "auth.conf"), swap(t, block("accounts: "), "UNODE...", key))
	commands := strings.Split(strings.TrimSpace(block("holdfast serve ")), "\n")
	if len(commands) != 2 || !strings.HasPrefix(commands[1], "holdfast acquire ") {
		t.Fatalf("docs/%s shows %q; want serve and acquire", page, commands)
	}
	if strings.Contains(commands[0], "--tenants") {
		write(t, filepath.Join(dir, "tenants.yaml"), block("ORDERS:"))
	}
	command := strings.Fields(files.Replace(strings.TrimPrefix(commands[0], "holdfast serve ")))
	return &accounts{
		url:     serveWith(t, []string{"ALICE_PASSWORD=secret"}, append(command, "--listen", "127.0.0.1:0")...).url,
		acquire: strings.Fields(swap(t, strings.TrimPrefix(commands[1], "holdfast "), "...", "secret")),
	}
}

func (a *accounts) run(t *testing.T, args ...string) result {
	t.Helper()
	return run(t, append(args, "--server", a.url)...)
}

// The NATS configuration, the file and the commands of docs/tenants.md make a deployment with a tenant, whose limits
// are those of the file.
func TestTenantsOfThePage(t *testing.T) {
	t.Parallel()
	a := serveAccounts(t, "tenants.md")
	a.run(t, a.acquire...).want(t, 0, `token 1`)
	a.run(t, append(a.acquire, "--ttl", "500ms")...).want(t, 2, `1s`)
}

// The NATS configuration and the commands of docs/identity.md make a deployment that verifies owners.
func TestIdentityOfThePage(t *testing.T) {
	t.Parallel()
	a := serveAccounts(t, "identity.md")
	a.run(t, a.acquire...).want(t, 0, `token 1`)
	other := strings.Fields(swap(t, strings.Join(a.acquire, " "), "alice/worker-1", "bob/worker-1"))
	a.run(t, other...).want(t, 2, `^holdfast: invalid: owner: "alice"`)
}
