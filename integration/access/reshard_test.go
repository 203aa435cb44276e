package access

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// With the printed rights the number of shards changes, and each tenant keeps its locks and goes on with its counters.
// Only a user with the rights of a node changes it.
func TestReshard(t *testing.T) {
	t.Parallel()
	tenants := []string{"ORDERS", "PEOPLE"}
	d := deploy(t, printed(t, "deployment", "--layout", "tenants", "--shards", "1", "--generations", "1:3",
		"--application", tenants[0], "--application", tenants[1]), 1, 2, tenants...)
	users := []string{"orders", "people"}
	clients := make([]*holdfast.Client, len(users))
	held := make([]map[string]*holdfast.Lock, len(users))
	for i, user := range users {
		clients[i] = stand.Client(t, d.connect(user))
		held[i] = make(map[string]*holdfast.Lock)
		for n := range 8 {
			name := fmt.Sprint("r", n)
			held[i][name] = stand.Value(clients[i].Acquire(t.Context(), name, holdfast.TTL(time.Hour)))(t)
		}
	}
	d.command("holdfast", "reshard", "3")(0, `^3 shards instead of 1`)
	for i, user := range users {
		nc := d.connect(user)
		for name, lock := range held[i] {
			if r := ask(t, nc, "holdfast.get."+name, ""); r.GetLease().GetToken() != uint64(lock.Token()) {
				t.Errorf("%s of %s: %v", name, user, r)
			}
			if err := lock.Release(t.Context()); err != nil {
				t.Errorf("%s of %s: %v", name, user, err)
			}
			again := stand.Value(clients[i].Acquire(t.Context(), name))(t)
			if again.Token() != lock.Token()+1 {
				t.Errorf("%s of %s: token %d behind %d", name, user, again.Token(), lock.Token())
			}
		}
		d.wantNoViolation(user)
	}
	d.wantNoViolation("holdfast")
	for _, user := range []string{"orders", operators} {
		d.command(user, "reshard", "5")(5, `rights of a node`)
	}
	d.command("holdfast", "reshard", "3")(1, `has 3 shards already`)
}

// Where the nodes have no rights to the new journals, nothing changes, and the command says which right is missing.
func TestReshardWithoutRights(t *testing.T) {
	t.Parallel()
	d := deploy(t, printed(t, "deployment", "--shards", "1"), 1, 1)
	c := stand.Client(t, d.connect("orders"))
	lock := stand.Value(c.Acquire(t.Context(), "orders.1", holdfast.TTL(time.Hour)))(t)
	d.command("holdfast", "reshard", "3")(5, `KV_HOLDFAST_1_0`)
	nc := d.connect("operator")
	info := stand.Value(stand.Client(t, nc).Info(t.Context()))(t)
	if is := (messages.Shards{Generation: info.Generation, Count: info.Shards}); is != (messages.Shards{Count: 1}) {
		t.Errorf("it is %v", is)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
