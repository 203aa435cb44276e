package peer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/peers/process"
	"github.com/holdfast-io/holdfast/messages"
)

// The peers on a plain NATS server: request/reply as the limit of any service on NATS, a JetStream KV bucket as a
// lock, and synced publishes of one client as the limit of hand-overs.
const (
	nameNATS    = "nats"
	nameKV      = "kv"
	namePublish = "publish"
)

// StartNATS starts NATS servers with JetStream that sync every write, and a process that echoes requests at each.
func StartNATS(ctx context.Context, env Environment) (*Deployment, error) {
	d := &Deployment{network: env.Network}
	urls, err := startServers(ctx, d, env)
	if err != nil {
		return d, err
	}
	if d.Version, err = process.Version(ctx, env.Programs.NATS, "--version"); err != nil {
		return d, err
	}
	ncs, err := connectNATS(d, urls, env.Connections)
	if err != nil {
		return d, err
	}
	if err := startEchoes(ctx, d, urls); err != nil {
		return d, err
	}
	d.add(nameNATS, []Workload{Pairs, Extend}, func(_ context.Context, n int) (Session, error) {
		return newEchoSession(ncs[n%len(ncs)])
	})
	buckets, err := openBuckets(ctx, d, ncs, env.Nodes)
	if err != nil {
		return d, err
	}
	d.add(nameKV, Workloads, func(_ context.Context, n int) (Session, error) {
		return &kvSession{bucket: buckets[n%len(buckets)], owner: fmt.Appendf(nil, "owner %d", n)}, nil
	})
	return d, addPublish(ctx, d, ncs[0], env.Nodes)
}

func startServers(ctx context.Context, d *Deployment, env Environment) (urls []string, err error) {
	addresses, err := env.addresses(2)
	if err != nil {
		return nil, err
	}
	clients, routes := addresses[:env.Nodes], addresses[env.Nodes:]
	for i, address := range clients {
		name := fmt.Sprintf("n%d", i+1)
		file := filepath.Join(env.Dir, "nats-"+name+".conf")
		config := fmt.Sprintf("server_name: %s\nlisten: %q\njetstream { store_dir: %q, sync_interval: always }\n",
			name, address, filepath.Join(env.Dir, "nats", name))
		if env.Nodes > 1 {
			config += fmt.Sprintf("cluster { name: peers, listen: %q, routes: [nats://%s] }\n", routes[i],
				strings.Join(routes, ", nats://"))
		}
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			return nil, err
		}
		if _, err := d.start("nats-server "+name, env.Programs.NATS, []string{"--config", file}); err != nil {
			return nil, err
		}
		urls = append(urls, "nats://"+address)
	}
	return urls, d.reachable(ctx, clients)
}

// echoVariable has a process of the benchmark itself echo requests at a NATS server.
const (
	echoVariable = "HOLDFAST_PEERS_ECHO"
	echoSubject  = "echo."
)

// echoAt returns the subject of the echo at the server of a connection. In a queue group of all echoes each would have
// its share of all requests, most of which would go over another server.
func echoAt(nc *nats.Conn) string { return echoSubject + nc.ConnectedServerName() }

// EchoIfAsked echoes requests until the process is ended, if it was started for that. The main function calls it.
func EchoIfAsked() error {
	url := os.Getenv(echoVariable)
	if url == "" {
		return nil
	}
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	// a lost answer fails the run
	_, err = nc.Subscribe(echoAt(nc), func(m *nats.Msg) { _ = m.Respond(m.Data) })
	if err != nil {
		return err
	}
	select {} // until the process is ended
}

// startEchoes starts one process for each server.
func startEchoes(ctx context.Context, d *Deployment, urls []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, url := range urls {
		p, err := d.start("echo", self, nil, echoVariable+"="+url)
		if err != nil {
			return err
		}
		nc, err := nats.Connect(url)
		if err != nil {
			return err
		}
		err = p.WaitReady(ctx, func(context.Context) error {
			_, err := nc.Request(echoAt(nc), nil, time.Second)
			return err
		})
		nc.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// echoSession sends what a session of Holdfast sends, and gets it back.
type echoSession struct {
	nc      *nats.Conn
	subject string
	payload []byte
}

func newEchoSession(nc *nats.Conn) (*echoSession, error) {
	payload, err := messages.Encode(messages.Protobuf, &messages.AcquireRequest{
		Owner: "plain.100", TtlMs: uint32(ttl.Milliseconds()), RequestId: "100000"})
	return &echoSession{nc, echoAt(nc), payload}, err
}

func (s *echoSession) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.nc.RequestWithContext(ctx, s.subject, s.payload)
	return err
}

// Lock implements [Session].
func (s *echoSession) Lock(ctx context.Context, _ string, _ bool) (uint64, error) {
	return 0, s.ask(ctx)
}

// Extend implements [Session].
func (s *echoSession) Extend(ctx context.Context) error { return s.ask(ctx) }

// Unlock implements [Session].
func (s *echoSession) Unlock(ctx context.Context) error { return s.ask(ctx) }
