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

// serveAccounts starts a node with the accounts that the command of a page prints, the tenants file of the page if there is
// one, and the settings of its command, in a file: there, a variable of the logins could be taken for a setting.
func serveAccounts(t *testing.T, page string) *accounts {
	t.Helper()
	text := read(t, "../../docs/"+page)
	find := func(pattern string) []string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("docs/%s has nothing like %s", page, pattern)
		}
		return m[1:]
	}
	auth := run(t, strings.Fields(strings.ReplaceAll(find("holdfast (access deployment .*?) > auth.conf")[0], "'", ""))...)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "auth.conf"), auth.stdout)
	seedFile, key := seed(t, newPair(t, nkeys.CreateUser))
	variables := []string{"NODE_NKEY=" + key}
	for _, m := range regexp.MustCompile(`\$([A-Z_]+_PASSWORD)`).FindAllStringSubmatch(auth.stdout, -1) {
		variables = append(variables, m[1]+"=secret")
	}
	files := strings.NewReplacer("auth.conf", filepath.Join(dir, "auth.conf"), "node.nk", seedFile,
		"tenants.yaml", filepath.Join(dir, "tenants.yaml"))
	commands := find("(?m)^ *holdfast serve (--.*)\n *holdfast (acquire .*)$")
	if strings.Contains(commands[0], "--tenants") {
		write(t, filepath.Join(dir, "tenants.yaml"), find("(?s)```yaml\n(ORDERS:.*?)```")[0])
	}
	settings := "listen: 127.0.0.1:0\n"
	for _, flag := range strings.Split(strings.TrimPrefix(commands[0], "--"), " --") {
		settings += files.Replace(strings.Replace(flag, " ", ": ", 1)) + "\n"
	}
	write(t, filepath.Join(dir, "holdfast.yaml"), settings)
	return &accounts{
		url:     serveWith(t, variables, "--config", filepath.Join(dir, "holdfast.yaml")).url,
		acquire: strings.Fields(swap(t, commands[1], "...", "secret")),
	}
}

func (a *accounts) run(t *testing.T, args ...string) result {
	t.Helper()
	return run(t, append(args, "--server", a.url)...)
}

// The commands and the file of docs/tenants.md make a deployment with a tenant, whose limits
// are those of the file.
func TestTenantsOfThePage(t *testing.T) {
	t.Parallel()
	a := serveAccounts(t, "tenants.md")
	a.run(t, a.acquire...).want(t, 0, `token 1`)
	a.run(t, append(a.acquire, "--ttl", "500ms")...).want(t, 2, `1s`)
}

// The commands of docs/identity.md make a deployment that verifies owners.
func TestIdentityOfThePage(t *testing.T) {
	t.Parallel()
	a := serveAccounts(t, "identity.md")
	a.run(t, a.acquire...).want(t, 0, `token 1`)
	other := strings.Fields(swap(t, strings.Join(a.acquire, " "), "orders/worker-1", "bob/worker-1"))
	a.run(t, other...).want(t, 2, `^holdfast: invalid: owner: "orders"`)
}
