package fenceredis_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// startCluster starts a cluster of one node, which has all slots. It refuses what reaches across slots,
// as a larger one does.
func startCluster(t *testing.T) (*fencetest.Process, redis.UniversalClient) {
	t.Helper()
	_, bus, _ := net.SplitHostPort(porttest.Free(t, 1)[0])
	server := startWith(t, clusterReady, "--cluster-enabled", "yes", "--cluster-port", bus)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}, PoolSize: 100})
	t.Cleanup(func() { rdb.Close() })
	return server, rdb
}

func clusterReady(ctx context.Context, rdb *redis.Client) error {
	info, err := rdb.ClusterInfo(ctx).Result()
	switch {
	case err != nil:
		return err
	case strings.Contains(info, "cluster_slots_assigned:0\r"):
		return errors.Join(errors.New("slots were not assigned yet"), rdb.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	case !strings.Contains(info, "cluster_state:ok"):
		return errors.New(info)
	}
	return nil
}

func TestCluster(t *testing.T) {
	t.Parallel()
	_, rdb := startCluster(t)
	t.Run("Slots", func(t *testing.T) { slots(t, rdb) })
	t.Run("OtherSlot", func(t *testing.T) { otherSlot(t, rdb) })
}

// slots checks against the server's own arithmetic where marks stand.
func slots(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	g := mustNew(t, rdb)
	slot := func(key string) int64 {
		n, err := rdb.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for resource, likeItself := range map[string]bool{
		"orders.42": true, "orders/{42}/x": true, "{a}{b}": true, "a{b": true, "{{a}": true, "a{{b}c": true, "{": true,
		strings.Repeat("x", 512): true, "é 🔒:%*>": true,
		"{}": false, "a}b": false, "}": false, "{}{a}": false, "}{a": false, "}{a}": true,
	} {
		mark := slot(g.MarkKey(resource))
		if got := slot(fenceredis.Tag(resource) + ":more"); got != mark {
			t.Errorf("%q: a tagged key is in slot %d, its mark in %d", resource, got, mark)
		}
		if got := slot(resource); likeItself && got != mark {
			t.Errorf("%q: the key of this name is in slot %d, its mark in %d", resource, got, mark)
		}
	}
}

// otherSlot checks that a key which a cluster keeps elsewhere is refused, and how it would be right.
func otherSlot(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	g := mustNew(t, rdb)
	c := fence.Claim{Resource: "orders.42", Token: 33}
	err := g.Set(t.Context(), c, "elsewhere", "lost", 0)
	if !errors.Is(err, fence.ErrInvalid) || !strings.Contains(err.Error(), "{orders.42}") {
		t.Errorf("a key in another slot: %v, want one that is ErrInvalid and names the hash tag", err)
	}
	if n, err := rdb.Exists(t.Context(), "elsewhere").Result(); n != 0 || err != nil {
		t.Errorf("%d keys were written, %v", n, err)
	}
	if n, err := rdb.Exists(t.Context(), g.MarkKey(c.Resource)).Result(); n != 0 || err != nil {
		t.Errorf("%d marks were raised, %v", n, err)
	}
	if err := g.Del(t.Context(), c, "orders.42", "{orders.42}:items", fenceredis.Tag("orders.42")+":more"); err != nil {
		t.Errorf("keys in the slot of the mark: %v", err)
	}
}
