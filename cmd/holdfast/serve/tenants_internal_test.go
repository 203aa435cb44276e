package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/actors/node"
)

// reading returns a serve command with a tenants file of this name and content.
func reading(t *testing.T, name, content string) *serve {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServe("", nil)
	s.addFlags(&cobra.Command{})
	s.tenants.file = path
	return s
}

// What a tenant does not set is as the flags say, in both formats.
func TestTenantsFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"tenants.yaml": "ORDERS:\n  max-held: 7\n  max-waiting: 8\n  max-rate: 9\n  min-ttl: 1s\n  max-ttl: 1m\n  " +
			"max-delay: 0s\n$G: {}\norders:\n",
		"tenants.yml": "{ORDERS: {max-held: '7', max-waiting: 8, max-rate: 9, min-ttl: 1s, max-ttl: 1m, max-delay: " +
			"0s}, $G: {}, orders: {}}",
		"tenants.toml": "[ORDERS]\nmax-held = 7\nmax-waiting = 8\nmax-rate = 9\nmin-ttl = '1s'\nmax-ttl = " +
			"'1m'\nmax-delay = '0s'\n['$G']\n[orders]\n",
	} {
		s := reading(t, name, content)
		s.limits.maxTTL.Duration, s.limits.maxHeld.Value = time.Hour, 1000
		all, err := s.tenants.read()
		if err != nil || len(all) != 3 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		orders, global := all["ORDERS"], all["$G"]
		if orders.Held != 7 || orders.Waiting != 8 || orders.Rate != 9 || orders.Limits.GetMinTtlMs() != 1000 ||
			orders.Limits.GetMaxTtlMs() != 60_000 || orders.Limits.GetMaxDelayMs() != 0 {
			t.Errorf("%s: %+v", name, orders)
		}
		if c := node.DefaultCapacity(); global.Held != 1000 || global.Waiting != c.Waiting ||
			global.Rate != node.DefaultTenantRate || global.Limits.GetMaxTtlMs() != 3_600_000 {
			t.Errorf("%s: what is not set is %+v", name, global)
		}
	}
	if all, err := reading(t, "tenants.yaml", "").tenants.read(); err != nil || all == nil || len(all) != 0 {
		t.Errorf("an empty file: %v, %v, want no tenant", all, err)
	}
}

// A mistake is named with the file, the tenant, the key and the rule.
func TestMistakesInTheTenantsFile(t *testing.T) {
	t.Parallel()
	many := &strings.Builder{}
	for i := range node.MaxTenants + 1 {
		fmt.Fprintf(many, "T%d: {}\n", i)
	}
	for content, want := range map[string]string{
		"A: {max-hold: 1}":              `tenants.yaml: A: unknown limit "max-hold"; did you mean "max-held"?`,
		"A: {other: 1}":                 `tenants.yaml: A: unknown limit "other"; the limits are: max-delay, max-held, max-rate, max-ttl, max-waiting, min-ttl`,
		"A: {max-held: 0}":              `tenants.yaml: A: max-held: 1 to 100000000, got "0"`,
		"A: {max-held: [1]}":            "tenants.yaml: A: max-held: one value, not a list, a table or nothing",
		"A: {max-held: }":               "tenants.yaml: A: max-held: one value, not a list, a table or nothing",
		"A: {max-ttl: 30}":              `tenants.yaml: A: max-ttl: a duration such as 30s, 1m30s or 500ms, got "30"`,
		"A: {min-ttl: 2m, max-ttl: 1m}": "tenants.yaml: A: min-ttl 2m is longer than max-ttl 1m",
		"a.b: {}":                       `tenants.yaml: tenant: the name of an account without dots, wildcards and spaces, got "a.b"`,
		"'*': {}":                       `tenants.yaml: tenant: the name of an account without dots, wildcards and spaces, got "*"`,
		"A: 7":                          "a table of limits for each account",
		"- A":                           "a table of limits for each account",
		"A: {}\nA: {}":                  `mapping key "A" already defined`,
		many.String(): "tenants.yaml: tenants: at most 1000, since each takes 12 " +
			"subscriptions with --shards 1, got 1001",
		strings.Repeat("#", maxTenantsFile):   "",
		strings.Repeat("#", maxTenantsFile+1): fmt.Sprintf("at most %d bytes", maxTenantsFile),
	} {
		_, err := reading(t, "tenants.yaml", content).tenants.read()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q: got %v, want %q", content, err, want)
		}
	}
	if _, err := reading(t, "tenants.txt", "").tenants.read(); err == nil || !strings.Contains(err.Error(), ".yaml, .yml or .toml") {
		t.Errorf("a file that is neither YAML nor TOML: %v", err)
	}
	missing := reading(t, "tenants.yaml", "")
	missing.tenants.file += "x.yaml"
	if _, err := missing.tenants.read(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is missing: %v", err)
	}
}
