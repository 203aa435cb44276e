//go:build linux

package faults_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// tenantEach: a trial whose seed is a multiple of it has its clients in the account of a tenant with verified owners.
const tenantEach = 4

// ofTenant makes the trial one of a tenant.
func (t *trial) ofTenant(cfg *cluster.Config) {
	t.Helper()
	t.account, t.tenant, cfg.Login = stand.Tenant, true, stand.AsOperator()
	logins, tenants := filepath.Join(t.TempDir(), "auth.conf"), filepath.Join(t.TempDir(), "tenants.yaml")
	err := os.WriteFile(logins, []byte(stand.TenantLogins(uint32(cfg.Shards))), 0o600)
	if err := errors.Join(err, os.WriteFile(tenants, []byte(stand.Tenant+": {max-rate: 1000000}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, login := stand.AsNode()
	cfg.Args = append(append(cfg.Args, login...), "--auth", logins, "--tenants", tenants, "--identity", "account")
}

// connect returns a connection of a client.
func (t *trial) connect() (*nats.Conn, error) {
	if t.account == "" {
		return t.cluster.Connect()
	}
	return t.cluster.Connect(stand.AsTenant())
}

// owner returns the name of an owner in the account of the clients.
func (t *trial) owner(name string) string { return linear.OwnerOf(t.account, name) }

// verifies returns an error if the service does not refuse a tenant's owner that does not begin with the account.
func (t *trial) verifies(ctx context.Context) error {
	if t.account == "" {
		return nil
	}
	_, err := t.client.Acquire(ctx, t.names()[0], holdfast.Owner("another"))
	if errors.Is(err, holdfast.ErrInvalid) {
		return nil
	}
	return errors.Join(errors.New("an owner of another account is not refused"), err)
}
