package fenceetcd_test

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-io/holdfast/clients/fence/fenceetcd"
)

// TestRoles checks that the permissions which the package's documentation asks for are enough, and that
// without them no mark can be written, however it is wrapped.
func TestRoles(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	admin := connect(t, server.Addr)
	grant(t, admin, "guard", "data/", fenceetcd.DefaultPrefix)
	grant(t, admin, "other", "data/")
	grant(t, admin, "root")
	if _, err := admin.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}

	g, c := mustNew(t, login(t, server.Addr, "guard")), claim(t, 34)
	if _, err := g.Transact(t.Context(), c, put("data/"+c.Resource, "value")); err != nil {
		t.Errorf("the guard's user: %v", err)
	}
	other := login(t, server.Addr, "other")
	if _, err := other.Put(t.Context(), "data/"+c.Resource, "unguarded"); err != nil {
		t.Errorf("another user, its own key: %v", err)
	}
	lower := clientv3.OpPut(g.MarkKey(c.Resource), "000000000000001")
	for name, op := range map[string]clientv3.Op{"plain": lower,
		"nested": clientv3.OpTxn(nil, []clientv3.Op{lower}, nil)} {
		if _, err := other.Txn(t.Context()).Then(op).Commit(); !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("another user, a mark, %s: %v, want that it is denied", name, err)
		}
	}
}

// grant makes a user who may read and write what begins with the prefixes.
func grant(t *testing.T, admin *clientv3.Client, name string, prefixes ...string) {
	t.Helper()
	_, userErr := admin.UserAdd(t.Context(), name, "secret")
	_, roleErr := admin.RoleAdd(t.Context(), name)
	_, grantErr := admin.UserGrantRole(t.Context(), name, name)
	if err := errors.Join(userErr, roleErr, grantErr); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range prefixes {
		all := clientv3.GetPrefixRangeEnd(prefix)
		if _, err := admin.RoleGrantPermission(t.Context(), name, prefix, all,
			clientv3.PermissionType(clientv3.PermReadWrite)); err != nil {
			t.Fatal(err)
		}
	}
}

func login(t *testing.T, addr, name string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Username: name, Password: "secret",
		Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
