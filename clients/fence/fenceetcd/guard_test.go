package fenceetcd_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceetcd"
)

func TestWrongOptions(t *testing.T) {
	kv := connect(t, addr)
	for name, tried := range map[string]func() (*fenceetcd.Guard, error){
		"no client":    func() (*fenceetcd.Guard, error) { return fenceetcd.New(nil) },
		"rule":         func() (*fenceetcd.Guard, error) { return fenceetcd.New(kv, fenceetcd.WithRule(7)) },
		"empty prefix": func() (*fenceetcd.Guard, error) { return fenceetcd.New(kv, fenceetcd.WithPrefix("")) },
		"last prefix":  func() (*fenceetcd.Guard, error) { return fenceetcd.New(kv, fenceetcd.WithPrefix("\xff\xff")) },
	} {
		if _, err := tried(); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want one that is ErrInvalid", name, err)
		}
	}
}

// TestResponse checks that callers see the results of their own operations, in order, and no others.
func TestResponse(t *testing.T) {
	kv := connect(t, addr)
	g, c := mustNew(t, kv), claim(t, 33)
	key := "data/" + c.Resource
	resp, err := g.Transact(t.Context(), c, []clientv3.Op{
		clientv3.OpGet(key),
		clientv3.OpTxn(nil, put(key, "nested"), nil),
		clientv3.OpGet(key),
		clientv3.OpDelete(key + "/none"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !resp.Succeeded || resp.Header.GetRevision() == 0 || len(resp.Responses) != 4 {
		t.Fatalf("succeeded %v, header %v, %d results, want 4", resp.Succeeded, resp.Header, len(resp.Responses))
	}
	if before := resp.Responses[0].GetResponseRange(); before == nil || before.GetCount() != 0 {
		t.Errorf("the first get found %v", before)
	}
	if after := resp.Responses[2].GetResponseRange().GetKvs(); len(after) != 1 || string(after[0].GetValue()) != "nested" {
		t.Errorf("the second get found %v", after)
	}
	if deleted := resp.Responses[3].GetResponseDeleteRange(); deleted == nil || deleted.GetDeleted() != 0 {
		t.Errorf("the delete is %v", deleted)
	}
	wantValue(t, kv, g.MarkKey(c.Resource), c.Token.String())
}

// TestOneRevision checks that mark and data are written in one revision.
func TestOneRevision(t *testing.T) {
	kv := connect(t, addr)
	g, c := mustNew(t, kv), claim(t, 33)
	written, err := g.Transact(t.Context(), c, put("data/"+c.Resource, "value"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"data/" + c.Resource, g.MarkKey(c.Resource)} {
		resp, err := kv.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.Kvs) != 1 || resp.Kvs[0].ModRevision != written.Header.GetRevision() {
			t.Errorf("%q is %v, want it in revision %d", key, resp.Kvs, written.Header.GetRevision())
		}
	}
}

func TestCompare(t *testing.T) {
	kv := connect(t, addr)
	g, c := mustNew(t, kv, fenceetcd.WithRule(fence.Once)), claim(t, 33)
	key := "data/" + c.Resource
	absent := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	present := clientv3.Compare(clientv3.CreateRevision(key), ">", 0)

	if _, err := g.Transact(t.Context(), c, put(key, "lost"), absent, present); !errors.Is(err, fenceetcd.ErrCompare) || errors.Is(err, fence.ErrStale) {
		t.Errorf("one comparison of two fails: %v, want ErrCompare", err)
	}
	wantValue(t, kv, key, "")
	wantValue(t, kv, g.MarkKey(c.Resource), "")
	if _, err := g.Transact(t.Context(), c, put(key, "by 33"), absent); err != nil {
		t.Errorf("the token was not used, and the comparison holds: %v", err)
	}
	if _, err := g.Transact(t.Context(), c, put(key, "lost"), absent); !errors.Is(err, fence.ErrSpent) {
		t.Errorf("a spent token and a comparison that fails: %v, want ErrSpent", err)
	}
	wantValue(t, kv, key, "by 33")
}

// TestServerRefuses checks that of a transaction which the server does not take nothing is left, nor its
// mark.
func TestServerRefuses(t *testing.T) {
	kv := connect(t, addr)
	for name, test := range map[string]struct {
		ops  []clientv3.Op
		want error
	}{
		"one key twice": {append(put("twice", "1"), put("twice", "2")...), rpctypes.ErrDuplicateKey},
		"too many":      {manyPuts(126), rpctypes.ErrTooManyOps},
		"no such lease": {[]clientv3.Op{clientv3.OpPut("leased", "value", clientv3.WithLease(42))},
			rpctypes.ErrLeaseNotFound},
		"empty key": {put("", "value"), rpctypes.ErrEmptyKey},
	} {
		t.Run(name, func(t *testing.T) {
			g, c := mustNew(t, kv), claim(t, 33)
			if _, err := g.Transact(t.Context(), c, test.ops); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			wantValue(t, kv, g.MarkKey(c.Resource), "")
		})
	}
	for _, key := range []string{"twice", "many/0", "leased"} {
		wantValue(t, kv, key, "")
	}
}

func TestMostOperations(t *testing.T) {
	kv := connect(t, addr)
	if _, err := mustNew(t, kv).Transact(t.Context(), claim(t, 33), manyPuts(125)); err != nil {
		t.Error(err)
	}
	if _, err := kv.Delete(t.Context(), "many/", clientv3.WithPrefix()); err != nil {
		t.Error(err)
	}
}

func manyPuts(n int) (ops []clientv3.Op) {
	for i := range n {
		ops = append(ops, clientv3.OpPut("many/"+strconv.Itoa(i), "value"))
	}
	return ops
}

// TestOneRoundTrip checks that nothing but one transaction is sent, whatever comes of it.
func TestOneRoundTrip(t *testing.T) {
	kv := &counting{KV: connect(t, addr)}
	g, c := mustNew(t, kv), claim(t, 0)
	for i, token := range []fence.Token{33, 33, 34, 33} {
		c.Token = token
		if err := g.Raise(t.Context(), c); (err != nil) != (i == 3) {
			t.Errorf("token %d: %v", token, err)
		}
	}
	if kv.txns != 4 || kv.others != 0 {
		t.Errorf("%d transactions and %d other requests for 4 claims", kv.txns, kv.others)
	}
}

type counting struct {
	clientv3.KV
	txns, others int
}

func (k *counting) Txn(ctx context.Context) clientv3.Txn {
	k.txns++
	return k.KV.Txn(ctx)
}

func (k *counting) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	k.others++
	return k.KV.Get(ctx, key, opts...)
}

func (k *counting) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	k.others++
	return k.KV.Do(ctx, op)
}

// TestModify keeps the lease of a key, and tells an empty value from none.
func TestModify(t *testing.T) {
	client := connect(t, addr)
	g, c := mustNew(t, client), claim(t, 33)
	key := "data/" + c.Resource
	lease, err := client.Grant(t.Context(), 600)
	if err != nil {
		t.Fatal(err)
	}
	var seen [][]byte
	modify := func() int64 {
		t.Helper()
		if err := g.Modify(t.Context(), c, key, func(old []byte) ([]byte, error) {
			seen = append(seen, old)
			return nil, nil
		}); err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get(t.Context(), key)
		if err != nil || len(resp.Kvs) != 1 {
			t.Fatal(resp, err)
		}
		return resp.Kvs[0].GetLease()
	}
	if got := modify(); got != 0 {
		t.Errorf("the new key has lease %d", got)
	}
	if _, err := g.Transact(t.Context(), c, []clientv3.Op{clientv3.OpPut(key, "", clientv3.WithLease(lease.ID))}); err != nil {
		t.Fatal(err)
	}
	if got := modify(); clientv3.LeaseID(got) != lease.ID {
		t.Errorf("the key has lease %d, want %d", got, lease.ID)
	}
	if len(seen) != 2 || seen[0] != nil || seen[1] == nil {
		t.Errorf("saw %#v", seen)
	}
	if err := g.Modify(t.Context(), c, g.MarkKey("other"), func([]byte) ([]byte, error) { return nil, nil }); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("a mark: %v", err)
	}
}
