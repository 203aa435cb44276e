package monitoring_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// clients make more requests than the node takes, and some without an inbox.
func clients(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	node := stand.StartAlone(t, "--max-rate", "10")
	nc := stand.Dial(t, node.URL)
	return []string{node.HTTP()}, []func(){func() {
		acquire(t, nc)
		if err := nc.Publish("holdfast.acquire.orders", []byte(`{"owner":"me","ttl_ms":1000}`)); err != nil {
			t.Error(err)
		}
	}}
}

// tenant has as many leases as it may, and asks for more.
func tenant(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	node, url := withTenant(t)
	nc := stand.Dial(t, url)
	return []string{node.HTTP()}, []func(){func() {
		for _, owner := range []string{"me", "other"} {
			if _, err := nc.Request("holdfast.tenant.ORDERS.acquire."+owner,
				fmt.Appendf(nil, `{"owner":%q,"ttl_ms":60000}`, owner), time.Minute); err != nil {
				t.Error(err)
			}
		}
	}}
}

// withTenant starts a node with a tenant that may have one lease. The URL has the login of an operator.
func withTenant(t *testing.T, args ...string) (node *stand.Member, url string) {
	t.Helper()
	dir := t.TempDir()
	tenants, auth := filepath.Join(dir, "tenants.yaml"), filepath.Join(dir, "auth.conf")
	write(t, tenants, []byte("ORDERS: {max-held: 1}\n"))
	write(t, auth, []byte("accounts: {HOLDFAST: {jetstream: enabled, users: [{user: node, password: n}]}}\n"))
	node = stand.StartAlone(t, append(args, "--auth", auth, "--user", "node", "--password", "n", "--tenants", tenants)...)
	return node, strings.Replace(node.URL, "://", "://node:n@", 1)
}

// acquire requests some locks and does not wait for the answers.
func acquire(t *testing.T, nc *nats.Conn) {
	t.Helper()
	for i := range 12 {
		if err := nc.PublishRequest(fmt.Sprint("holdfast.acquire.orders.", i), nc.NewInbox(),
			[]byte(`{"owner":"me","ttl_ms":100}`)); err != nil {
			t.Error(err)
		}
	}
}
