package fenceredis_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// TestConformance runs the suite for each way to write, and against a cluster.
func TestConformance(t *testing.T) {
	run := register{write: logValue, read: getValue, modify: modifyValue, history: loggedValues}
	for name, subject := range map[string]func(*testing.T) fencetest.Subject{
		"Set":     register{write: setValue, read: getValue, modify: modifyValue}.onServer,
		"HSet":    register{write: hsetValue, read: hgetValue}.onServer,
		"Run":     run.onServer,
		"Cluster": run.onCluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fencetest.Run(t, subject(t))
		})
	}
}

// register is a way to write a value and to read it back, in keys named after the resource.
type register struct {
	write   func(ctx context.Context, g *fenceredis.Guard, c fence.Claim, value string) error
	read    func(ctx context.Context, rdb redis.UniversalClient, resource string) (string, error)
	modify  modify // nil: the mark is raised before the read
	history func(ctx context.Context, rdb redis.UniversalClient, resource string) ([]string, error)
}

type modify func(ctx context.Context, g *fenceredis.Guard, c fence.Claim, f func(string) (string, error)) error

func modifyValue(ctx context.Context, g *fenceredis.Guard, c fence.Claim, f func(string) (string, error)) error {
	return g.Modify(ctx, c, c.Resource, func(old []byte) ([]byte, error) {
		value, err := f(string(old))
		return []byte(value), err
	})
}

func setValue(ctx context.Context, g *fenceredis.Guard, c fence.Claim, value string) error {
	return g.Set(ctx, c, c.Resource, value, 0)
}

func getValue(ctx context.Context, rdb redis.UniversalClient, resource string) (string, error) {
	return rdb.Get(ctx, resource).Result()
}

func hsetValue(ctx context.Context, g *fenceredis.Guard, c fence.Claim, value string) error {
	return g.HSet(ctx, c, c.Resource, map[string]string{"value": value, "other": value})
}

func hgetValue(ctx context.Context, rdb redis.UniversalClient, resource string) (string, error) {
	return rdb.HGet(ctx, resource, "value").Result()
}

// loggedBody is that of a script of the caller.
const loggedBody = `
	redis.call('SET', KEYS[1], ARGV[1])
	return redis.call('RPUSH', KEYS[2], ARGV[1])`

var logged = fenceredis.NewScript(loggedBody)

func logValue(ctx context.Context, g *fenceredis.Guard, c fence.Claim, value string) error {
	_, err := g.Run(ctx, c, logged, []string{c.Resource, logOf(c.Resource)}, value)
	return err
}

func loggedValues(ctx context.Context, rdb redis.UniversalClient, resource string) ([]string, error) {
	return rdb.LRange(ctx, logOf(resource), 0, -1).Result()
}

func logOf(resource string) string { return fenceredis.Tag(resource) + ":log" }

// open is a register under one rule, as the suite uses it.
type open struct {
	register
	rdb   redis.UniversalClient
	guard *fenceredis.Guard
}

// modifying is a register with a way to modify a value.
type modifying struct{ *open }

func (m modifying) Modify(ctx context.Context, c fence.Claim, f func(string) (string, error)) error {
	return m.modify(ctx, m.guard, c, f)
}

func (o *open) Write(ctx context.Context, c fence.Claim, value string) error {
	return o.write(ctx, o.guard, c, value)
}

func (o *open) Read(ctx context.Context, resource string) (string, error) {
	value, err := o.read(ctx, o.rdb, resource)
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

// onServer returns the subject of the suite, with a server of its own.
func (r register) onServer(t *testing.T) fencetest.Subject {
	t.Helper()
	server := startRedis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 100})
	t.Cleanup(func() { rdb.Close() })
	return r.on(server, rdb, func(via func(string) string) redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: via(server.Addr)})
	})
}

func (r register) onCluster(t *testing.T) fencetest.Subject {
	t.Helper()
	server, rdb := startCluster(t)
	return r.on(server, rdb, func(via func(string) string) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr},
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, via(addr)) // the cluster answers with its own addresses
			}})
	})
}

// on is the subject of a server that rdb reaches, and through another client of the driver's defaults.
func (r register) on(server *fencetest.Process, rdb redis.UniversalClient,
	through func(via func(string) string) redis.UniversalClient) fencetest.Subject {
	s := fencetest.Subject{
		Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
			tb.Helper()
			o := &open{r, rdb, mustNew(tb, rdb, fenceredis.WithRule(rule))}
			if r.modify == nil {
				return o
			}
			return modifying{o}
		},
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return &open{r, rdb, mustNew(tb, rdb, fenceredis.WithObserver(o))}
		},
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return mustNew(tb, rdb, fenceredis.WithRule(rule))
		},
		Restart: server.Restart,
		Through: func(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
			tb.Helper()
			other := through(via)
			tb.Cleanup(func() { other.Close() })
			return &open{r, other, mustNew(tb, other, fenceredis.WithRule(rule))}
		},
	}
	if r.history != nil {
		s.History = func(tb testing.TB, resource string) []string {
			tb.Helper()
			values, err := r.history(tb.Context(), rdb, resource)
			if err != nil {
				tb.Fatal(err)
			}
			return values
		}
	}
	return s
}
