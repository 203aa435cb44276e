package fenceetcd_test

import (
	"context"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceetcd"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

func TestConformance(t *testing.T) {
	for name, part := range map[string]func(clientv3.KV) clientv3.KV{
		"Client":    func(kv clientv3.KV) clientv3.KV { return kv },
		"Namespace": func(kv clientv3.KV) clientv3.KV { return namespace.NewKV(kv, "part/") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startEtcd(t)
			s := &store{Process: server, t: t, kv: part(connect(t, server.Addr)), part: part}
			fencetest.Run(t, fencetest.Subject{
				Open: s.open, Observed: s.observed, Marks: s.marks, Restart: s.restart, History: s.history,
				Through: s.through,
			})
		})
	}
}

// store is a server of the suite's own, and what is connected to it now.
type store struct {
	*fencetest.Process
	t    *testing.T // of the whole suite
	kv   clientv3.KV
	part func(clientv3.KV) clientv3.KV
}

func (s *store) open(tb testing.TB, rule fence.Rule) fencetest.Register {
	tb.Helper()
	return &register{s.kv, mustNew(tb, s.kv, fenceetcd.WithRule(rule))}
}

func (s *store) observed(tb testing.TB, o fence.Observer) fencetest.Register {
	tb.Helper()
	return &register{s.kv, mustNew(tb, s.kv, fenceetcd.WithObserver(o))}
}

func (s *store) marks(tb testing.TB, rule fence.Rule) fence.Marks {
	tb.Helper()
	return mustNew(tb, s.kv, fenceetcd.WithRule(rule))
}

func (s *store) restart(tb testing.TB) {
	tb.Helper()
	s.Restart(tb)
	s.kv = s.part(connect(s.t, s.Addr)) // the old connection waits before it tries again
}

func (s *store) through(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
	tb.Helper()
	kv := s.part(connect(tb, via(s.Addr)))
	return &register{kv, mustNew(tb, kv, fenceetcd.WithRule(rule))}
}

// history reads each revision of the key, from the last to the first.
func (s *store) history(tb testing.TB, resource string) []string {
	tb.Helper()
	var values []string
	for revision := int64(0); ; {
		resp, err := s.kv.Get(tb.Context(), dataKey(resource), clientv3.WithRev(revision))
		if err != nil {
			tb.Fatal(err)
		}
		if len(resp.Kvs) == 0 {
			slices.Reverse(values)
			return values
		}
		values = append(values, string(resp.Kvs[0].Value))
		revision = resp.Kvs[0].ModRevision - 1
	}
}

type register struct {
	kv    clientv3.KV
	guard *fenceetcd.Guard
}

func (r *register) Write(ctx context.Context, c fence.Claim, value string) error {
	_, err := r.guard.Transact(ctx, c, put(dataKey(c.Resource), value))
	return err
}

func (r *register) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	return r.guard.Modify(ctx, c, dataKey(c.Resource), func(old []byte) ([]byte, error) {
		value, err := f(string(old))
		return []byte(value), err
	})
}

func (r *register) Read(ctx context.Context, resource string) (string, error) {
	resp, err := r.kv.Get(ctx, dataKey(resource))
	if err != nil || len(resp.Kvs) == 0 {
		return "", err
	}
	return string(resp.Kvs[0].Value), nil
}

func dataKey(resource string) string { return "data/" + resource }
