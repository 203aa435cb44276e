package peer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/holdfast-io/holdfast/integration/peers/process"
)

// etcdQuota is the largest database that etcd recommends. The default of 2 GB would end a long run, since nothing is
// compacted.
const etcdQuota = "8589934592"

// StartEtcd starts a cluster of etcd with its defaults.
func StartEtcd(ctx context.Context, env Environment) (*Deployment, error) {
	d := &Deployment{network: env.Network}
	version, err := process.Version(ctx, env.Programs.Etcd, "--version")
	if err != nil {
		return d, err
	}
	d.Version = strings.TrimSpace(version)
	endpoints, err := startEtcds(ctx, d, env)
	if err != nil {
		return d, err
	}
	var clients []*clientv3.Client
	for i := range env.Connections {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoints[i%len(endpoints)]}, Logger: zap.NewNop()})
		if err != nil {
			return d, err
		}
		d.closers = append(d.closers, func() { _ = c.Close() }) // its leases run out
		clients = append(clients, c)
	}
	d.add("etcd", Workloads, func(_ context.Context, n int) (Session, error) {
		s, err := concurrency.NewSession(clients[n%len(clients)], concurrency.WithTTL(int(ttl.Seconds())))
		return &etcdSession{session: s}, err
	})
	return d, nil
}

func startEtcds(ctx context.Context, d *Deployment, env Environment) (endpoints []string, err error) {
	addresses, err := env.addresses(2)
	if err != nil {
		return nil, err
	}
	var members []string
	for i, peer := range addresses[env.Nodes:] {
		members = append(members, fmt.Sprintf("n%d=http://%s", i+1, peer))
	}
	for i, address := range addresses[:env.Nodes] {
		name, client, peer := fmt.Sprintf("n%d", i+1), "http://"+address, "http://"+addresses[env.Nodes+i]
		dir := filepath.Join(env.Dir, "etcd", name)
		if _, err := d.start("etcd "+name, env.Programs.Etcd, []string{
			"--name", name, "--data-dir", dir, "--log-level", "error", "--quota-backend-bytes", etcdQuota,
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
			strings.Join(members, ","),
		}); err != nil {
			return nil, err
		}
		endpoints = append(endpoints, address)
	}
	for i, endpoint := range endpoints {
		if err := d.processes[i].WaitReady(ctx, healthy(endpoint)); err != nil {
			return nil, err
		}
	}
	return endpoints, nil
}

// healthy asks whether a member serves requests.
func healthy(endpoint string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint+"/health", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }() // nothing more is read
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
}

// etcdSession uses etcd's own mutex: one transaction to lock, one deletion to unlock. Its lease is that of the
// session, which the client renews, so a lock by itself carries none.
type etcdSession struct {
	session *concurrency.Session
	mutex   *concurrency.Mutex
}

// Lock implements [Session].
func (s *etcdSession) Lock(ctx context.Context, resource string, wait bool) (uint64, error) {
	s.mutex = concurrency.NewMutex(s.session, "/"+resource)
	lock, bound := s.mutex.TryLock, patience
	if wait {
		lock, bound = s.mutex.Lock, patience+longestWait
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	if err := lock(ctx); err != nil {
		return 0, err
	}
	return uint64(s.mutex.Header().GetRevision()), nil
}

// Extend renews the lease of the session, as its keep-alives do. etcd does not store that.
func (s *etcdSession) Extend(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.session.Client().KeepAliveOnce(ctx, s.session.Lease())
	return err
}

// Unlock implements [Session].
func (s *etcdSession) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.mutex.Unlock(ctx)
}
