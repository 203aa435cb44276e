package peer

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/integration/peers/process"
	"github.com/holdfast-io/holdfast/messages"
)

// Holdfast is how a deployment of Holdfast is started. All that it does not set has its default.
type Holdfast struct {
	// Name is that of its first peer; the peer with the Go client adds "-go".
	Name string
	// Program is the path of the binary, Version what the report calls it.
	Program, Version string
	// Shards is the number of shards; 0: the default.
	Shards int
	// Remembered is the number of free resources that it remembers; 0: the default.
	Remembered int
}

// Start starts the deployment.
func (h Holdfast) Start(ctx context.Context, env Environment) (*Deployment, error) {
	d := &Deployment{Version: h.Version, network: env.Network}
	urls, err := h.start(ctx, d, env)
	if err != nil {
		return d, err
	}
	ncs, err := connectNATS(d, urls, env.Connections)
	if err != nil {
		return d, err
	}
	d.service = load.Service{Prefix: messages.DefaultPrefix, Timeout: patience}
	if d.service.Shards, err = settled(ctx, d.processes[0], ncs[0], env.Nodes); err != nil {
		return d, err
	}
	d.add(h.Name, plain, func(_ context.Context, n int) (Session, error) {
		return &plainSession{client: load.NewClient(ncs[n%len(ncs)], d.service, fmt.Sprintf("plain.%d", n), ttl)}, nil
	})
	d.add(h.Name+"-keep", []Workload{Keep}, func(_ context.Context, n int) (Session, error) {
		return newKeepSession(ncs[n%len(ncs)], d.service.Shards, n), nil
	})
	h.addGoClients(d, ncs)
	return d, nil
}

// Reopen stops the only node of a deployment that [Holdfast.Start] has started, starts it again, and returns how long
// it took from there until each shard had granted a lock. The sessions of the deployment cannot be used any more.
func (d *Deployment) Reopen(ctx context.Context) (time.Duration, error) {
	d.processes[0].Stop()
	begun := time.Now()
	p, err := d.processes[0].Restart()
	if err != nil {
		return 0, err
	}
	d.processes[0] = p
	var nc *nats.Conn
	err = p.WaitReady(ctx, func(context.Context) (err error) {
		nc, err = nats.Connect(d.url)
		return err
	})
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	c := load.NewClient(nc, d.service, "reopen", ttl)
	for shard := range d.service.Shards {
		key := keyOf(shard, d.service.Shards)
		err := p.WaitReady(ctx, func(ctx context.Context) error {
			token, err := c.Acquire(ctx, key, 0)
			if err != nil {
				return err
			}
			return c.Release(ctx, key, token)
		})
		if err != nil {
			return 0, fmt.Errorf("shard %d: %w", shard, err)
		}
	}
	return time.Since(begun), nil
}

// keyOf returns a key of a resource of the shard.
func keyOf(shard, shards uint32) string {
	for n := 0; ; n++ {
		if key := fmt.Sprintf("reopen-%d", n); messages.ShardOf(key, shards) == shard {
			return key
		}
	}
}

// start starts the processes and returns their URLs.
func (h Holdfast) start(ctx context.Context, d *Deployment, env Environment) (urls []string, err error) {
	addresses, err := env.addresses(2)
	if err != nil {
		return nil, err
	}
	clients, routes := addresses[:env.Nodes], addresses[env.Nodes:]
	for i, address := range clients {
		name := "n" + strconv.Itoa(i+1)
		args := []string{"serve", "--name", name, "--listen", address, "--data", filepath.Join(env.Dir, h.Name, name)}
		if env.Nodes > 1 {
			args = append(args, "--cluster-listen", routes[i], "--routes", strings.Join(routes, ","), "--replicas",
				strconv.Itoa(env.Nodes))
		}
		if env.Network != nil {
			args = append(args, "--allow-remote") // nobody else is there
		}
		if h.Shards > 0 {
			args = append(args, "--shards", strconv.Itoa(h.Shards))
		}
		if h.Remembered > 0 {
			args = append(args, "--max-remembered", strconv.Itoa(h.Remembered))
		}
		if _, err := d.start(h.Name+" "+name, h.Program, args); err != nil {
			return nil, err
		}
		urls = append(urls, "nats://"+address)
	}
	d.url = urls[0]
	return urls, d.reachable(ctx, clients)
}

// settled waits until all nodes own shards, and returns the number of shards.
func settled(ctx context.Context, p *process.Process, nc *nats.Conn, nodes int) (shards uint32, err error) {
	err = p.WaitReady(ctx, func(context.Context) error {
		m, err := nc.Request(messages.DefaultPrefix.Info(), nil, time.Second)
		if err != nil {
			return err
		}
		var info messages.Info
		if err := messages.DecodeReply(messages.JSON, m.Data, &info); err != nil {
			return err
		}
		shards = info.GetShards()
		owners, owned := 0, 0
		for _, node := range info.GetNodes() {
			if owned += len(node.GetShards()); len(node.GetShards()) > 0 {
				owners++
			}
		}
		if shards == 0 || owned != int(shards) || owners != min(nodes, int(shards)) {
			return fmt.Errorf("%d nodes own %d of %d shards", owners, owned, shards)
		}
		return nil
	})
	return shards, err
}

// plainSession sends plain requests.
type plainSession struct {
	client *load.Client
	key    string
	token  uint64
}

// Lock implements [Session].
func (s *plainSession) Lock(ctx context.Context, resource string, wait bool) (token uint64, err error) {
	if s.key, err = messages.EncodeKey(resource); err != nil {
		return 0, err
	}
	var longest time.Duration
	if wait {
		longest = longestWait
	}
	s.token, err = s.client.Acquire(ctx, s.key, longest)
	return s.token, err
}

// Extend implements [Session].
func (s *plainSession) Extend(ctx context.Context) error { return s.client.Extend(ctx, s.key, s.token) }

// Unlock implements [Session].
func (s *plainSession) Unlock(ctx context.Context) error {
	return s.client.Release(ctx, s.key, s.token)
}

// addGoClients adds the peers that use the Go client, one on each connection; the one that caches uses one client for
// all, as one process does.
func (h Holdfast) addGoClients(d *Deployment, ncs []*nats.Conn) {
	addGoClient(d, h.Name+"-go", plain, ncs, holdfast.TTL(ttl))
	addGoClient(d, h.Name+"-cached", []Workload{Cached}, ncs[:1], holdfast.TTL(ttl), holdfast.Cached(idle)).fills = true
}

func addGoClient(d *Deployment, name string, workloads []Workload, ncs []*nats.Conn,
	options ...holdfast.AcquireOption) *Peer {
	clients := make([]*holdfast.Client, len(ncs))
	return d.add(name, workloads, func(_ context.Context, n int) (Session, error) {
		n %= len(ncs)
		if clients[n] != nil {
			return &goSession{client: clients[n], options: options}, nil
		}
		c, err := holdfast.New(ncs[n], holdfast.Timeout(patience))
		if err != nil {
			return nil, err
		}
		d.closers = append(d.closers, func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_ = c.Close(ctx) // its leases run out
		})
		clients[n] = c
		return &goSession{client: c, options: options}, nil
	})
}

// goSession uses the Go client as an application does.
type goSession struct {
	client  *holdfast.Client
	options []holdfast.AcquireOption
	lock    *holdfast.Lock
}

// Lock implements [Session].
func (s *goSession) Lock(ctx context.Context, resource string, wait bool) (token uint64, err error) {
	acquire := s.client.TryAcquire
	if wait {
		acquire = s.client.Acquire
	}
	if s.lock, err = acquire(ctx, resource, s.options...); err != nil {
		return 0, err
	}
	return uint64(s.lock.Token()), nil
}

// Extend implements [Session].
func (s *goSession) Extend(ctx context.Context) error { return s.lock.Extend(ctx, ttl) }

// Unlock implements [Session].
func (s *goSession) Unlock(ctx context.Context) error { return s.lock.Release(ctx) }

// connectNATS opens connections, to the servers in turn. They end with the deployment.
func connectNATS(d *Deployment, urls []string, n int) (ncs []*nats.Conn, err error) {
	for i := range n {
		nc, err := nats.Connect(urls[i%len(urls)], nats.MaxReconnects(-1))
		if err != nil {
			return nil, err
		}
		d.closers = append(d.closers, nc.Close)
		ncs = append(ncs, nc)
	}
	return ncs, nil
}

// defaultRemembered is the default of serve --max-remembered.
const defaultRemembered = 1_000_000

// RememberedFor returns the setting for a load on so many resources: all of them are remembered.
func RememberedFor(resources int) int {
	if resources <= defaultRemembered {
		return 0
	}
	return resources + defaultRemembered
}
