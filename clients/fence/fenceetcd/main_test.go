package fenceetcd_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceetcd"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// addr is where the server listens that all tests share which do not restart theirs.
var addr string

func TestMain(m *testing.M) { os.Exit(fencetest.Main(m, start)) }

func start(tb testing.TB) {
	tb.Helper()
	addr = startEtcd(tb).Addr
}

// startEtcd starts a server with its data on disk. It is a module of its own, because a module that
// embeds it hands its requirements on to applications.
func startEtcd(tb testing.TB) *fencetest.Process {
	tb.Helper()
	const tool, peer = "go.etcd.io/etcd/server/v3", "http://127.0.0.1:0"
	program, dir := fencetest.Tool(tb, "etcd/go.mod", tool), tb.TempDir()
	return fencetest.Server{
		Program: program,
		Install: "go tool -modfile=etcd/go.mod -n " + tool,
		Command: func(addr string) *exec.Cmd {
			client := "http://" + addr
			return exec.Command(program, "--data-dir", filepath.Join(dir, "data"), "--log-outputs",
				filepath.Join(dir, "log"),
				"--bcrypt-cost", "4", // the least: passwords are no secret here
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
		},
		Ready: healthy,
	}.Start(tb)
}

func healthy(ctx context.Context, addr string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

func connect(tb testing.TB, addr string) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { client.Close() })
	return client
}

func mustNew(tb testing.TB, kv clientv3.KV, opts ...fenceetcd.Option) *fenceetcd.Guard {
	tb.Helper()
	g, err := fenceetcd.New(kv, opts...)
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
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if _, err := client.Delete(context.Background(), "", clientv3.WithPrefix()); err != nil {
		panic(err)
	}
	return addr
}

func put(key, value string) []clientv3.Op {
	return []clientv3.Op{clientv3.OpPut(key, value)}
}

// wantValue checks what a key holds; want is empty if it does not exist.
func wantValue(tb testing.TB, kv clientv3.KV, key, want string) {
	tb.Helper()
	resp, err := kv.Get(tb.Context(), key)
	if err != nil {
		tb.Fatal(err)
	}
	var got string
	if len(resp.Kvs) > 0 {
		got = string(resp.Kvs[0].Value)
	}
	if got != want {
		tb.Errorf("%q holds %q, want %q", key, got, want)
	}
}
