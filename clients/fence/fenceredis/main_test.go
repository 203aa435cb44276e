package fenceredis_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// addr is where the server listens that all tests share which do not restart theirs.
var addr string

func TestMain(m *testing.M) {
	os.Exit(fencetest.Main(m, start))
}

func start(tb testing.TB) {
	tb.Helper()
	addr = startRedis(tb).Addr
}

// startRedis starts a server that forgets nothing when it is killed. It ends with tb.
func startRedis(tb testing.TB) *fencetest.Process {
	tb.Helper()
	return startWith(tb, func(ctx context.Context, rdb *redis.Client) error { return rdb.Ping(ctx).Err() })
}

// startWith starts a server with more settings, which is ready when ready returns nil.
func startWith(tb testing.TB, ready func(context.Context, *redis.Client) error, settings ...string) *fencetest.Process {
	tb.Helper()
	dir := tb.TempDir()
	return fencetest.Server{
		Program: "redis-server",
		Install: "bash .ci/servers",
		Command: func(addr string) *exec.Cmd {
			_, port, _ := net.SplitHostPort(addr)
			args := []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always"}
			return exec.Command("redis-server", append(args, settings...)...)
		},
		Ready: func(ctx context.Context, addr string) error {
			rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
			defer rdb.Close()
			return ready(ctx, rdb)
		},
	}.Start(tb)
}

// connect returns a client of the shared server.
func connect(tb testing.TB) *redis.Client {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	tb.Cleanup(func() { rdb.Close() })
	return rdb
}

// do is what a user of go-redis writes.
func do(rdb redis.UniversalClient) fenceredis.Do {
	return func(ctx context.Context, args ...any) (any, error) { return rdb.Do(ctx, args...).Result() }
}

func mustNew(tb testing.TB, rdb redis.UniversalClient, opts ...fenceredis.Option) *fenceredis.Guard {
	tb.Helper()
	g, err := fenceredis.New(do(rdb), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

var ordinal atomic.Uint64

// claim returns one of a resource that no other test uses, nor the same one when it runs again.
func claim(tb testing.TB, token fence.Token) fence.Claim {
	tb.Helper()
	return fence.Claim{Resource: fmt.Sprintf("%s/%d", tb.Name(), ordinal.Add(1)), Token: token}
}

// emptyServer returns the address of the shared server for an example, with nothing stored there.
func emptyServer() string {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	if err := rdb.FlushAll(context.Background()).Err(); err != nil {
		panic(err)
	}
	return addr
}
