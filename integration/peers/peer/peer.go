// Package peer has the services that the benchmark compares, and how each is used as a lock.
package peer

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/integration/peers/network"
	"github.com/holdfast-io/holdfast/integration/peers/process"
)

const (
	// ttl is the duration of every lease. No load lasts so long without a renewal or a release of it.
	ttl = 30 * time.Second
	// patience bounds a call, in addition to the time in a queue, and longestWait that time.
	patience    = time.Minute
	longestWait = time.Minute
	// idle is for how long a cached lease is kept: longer than a measurement.
	idle = 10 * time.Minute
)

// Session is one client of a service. It serves one goroutine and holds at most one lock at a time.
type Session interface {
	// Lock acquires a resource and returns its token, 0 if the service has none. If wait is false, it is an error
	// if another session holds the resource; else Lock waits for it.
	Lock(ctx context.Context, resource string, wait bool) (token uint64, err error)
	// Extend renews the lock that the session holds.
	Extend(ctx context.Context) error
	// Unlock releases the lock that the session holds.
	Unlock(ctx context.Context) error
}

// Workload is what the clients of a service do.
type Workload string

const (
	// Pairs is that each client locks and unlocks resources of its own, one after the other.
	Pairs Workload = "pairs"
	// Hot is that all clients lock and unlock the same resource.
	Hot Workload = "hot"
	// Extend is that each client renews a lock of its own.
	Extend Workload = "extend"
	// Keep is that each client renews a session with a lock of its own. Services that have no sessions renew the lock.
	Keep Workload = "keep"
	// Cached is [Pairs] for clients that may keep a lock for their own next request.
	Cached Workload = "cached"
)

// Workloads are all of them.
var Workloads = []Workload{Pairs, Hot, Extend, Keep, Cached}

// plain are those of a peer that renews each lock by itself, and keeps none.
var plain = []Workload{Pairs, Hot, Extend}

// Locks reports whether the clients lock and unlock resources of their own.
func (w Workload) Locks() bool { return w == Pairs || w == Cached }

// Renews reports whether the clients renew what they have locked.
func (w Workload) Renews() bool { return w == Extend || w == Keep }

// Deployment is a service that runs, on one node or several.
type Deployment struct {
	// Version is that of the service, for the report.
	Version string
	// Peers are the ways to use it that are compared.
	Peers []*Peer

	// url is that of the first node of Holdfast, service how its nodes are reached.
	url     string
	service load.Service
	// network has the hosts of the processes, in turns; nil: this one.
	network *network.Network

	processes []*process.Process
	closers   []func()
}

// Peer is one row of the comparison: a deployment and a way to use it.
type Peer struct {
	Name       string
	Deployment *Deployment
	// workloads are those that the peer can do.
	workloads []Workload
	// fills: the clients keep what they have locked, so each resource is locked once before a measurement.
	fills bool
	// lone: only one client is measured.
	lone bool
	// open returns the session of the nth client.
	open     func(ctx context.Context, n int) (Session, error)
	sessions []Session
}

// Runs reports whether the peer is measured under the workload with so many clients.
func (p *Peer) Runs(w Workload, clients int) bool {
	return slices.Contains(p.workloads, w) && (!p.lone || w == Hot || clients == 1)
}

// Fills reports whether each resource is to be locked once before a measurement.
func (p *Peer) Fills() bool { return p.fills }

// Sessions returns the sessions of so many clients, from the first one on, which counts from 0; of that one alone if the
// peer is measured with no more. A client is connected to one node, and the next client to the next node.
func (p *Peer) Sessions(ctx context.Context, first, clients int) ([]Session, error) {
	if p.lone {
		clients = 1
	}
	for n := len(p.sessions); n < first+clients; n++ {
		s, err := p.open(ctx, n)
		if err != nil {
			return nil, err
		}
		p.sessions = append(p.sessions, s)
	}
	return p.sessions[first : first+clients], nil
}

func (d *Deployment) add(name string, workloads []Workload, open func(context.Context, int) (Session, error)) *Peer {
	p := &Peer{Name: name, Deployment: d, workloads: workloads, open: open}
	d.Peers = append(d.Peers, p)
	return p
}

// start starts the next one of the deployment's processes.
func (d *Deployment) start(name, program string, args []string, env ...string) (p *process.Process, err error) {
	start := func() (err error) {
		p, err = process.Start(name, program, args, env...)
		return err
	}
	if d.network == nil {
		err = start()
	} else {
		err = d.network.Inside(len(d.processes), start)
	}
	if err == nil {
		d.processes = append(d.processes, p)
	}
	return p, err
}

// reachable waits until the processes accept connections, each at its address.
func (d *Deployment) reachable(ctx context.Context, addresses []string) error {
	for i, address := range addresses {
		if err := d.processes[i].WaitReady(ctx, func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				return err
			}
			return conn.Close()
		}); err != nil {
			return err
		}
	}
	return nil
}

// CPU returns the processor time of all processes of the deployment; ok is false if it is not known.
func (d *Deployment) CPU() (used time.Duration, ok bool) {
	return sum(d.processes, (*process.Process).CPU)
}

// Resident returns the bytes of memory of all processes of the deployment; ok is false if they are not known.
func (d *Deployment) Resident() (bytes int64, ok bool) {
	return sum(d.processes, (*process.Process).Resident)
}

// sum adds up a figure of the processes; ok is false if there are none, or it is not known of one.
func sum[T time.Duration | int64](processes []*process.Process, of func(*process.Process) (T, bool)) (all T, ok bool) {
	for _, p := range processes {
		one, ok := of(p)
		if !ok {
			return 0, false
		}
		all += one
	}
	return all, len(processes) > 0
}

// Stop closes all sessions and stops the processes.
func (d *Deployment) Stop() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
	for _, p := range d.processes {
		p.Stop()
	}
}

// Environment is what deployments are started with.
type Environment struct {
	// Dir is an empty directory for data, on the disk that is measured.
	Dir string
	// Nodes is the number of servers: 1 or 3.
	Nodes int
	// Connections is the number of connections that the clients of a peer share.
	Connections int
	// Programs are where the programs are.
	Programs Programs
	// Network has the hosts of the servers; nil: all are on the loopback of this one.
	Network *network.Network
}

// addresses returns free ones for so many servers on each node: the first ones of all nodes, then the second ones.
func (e Environment) addresses(each int) ([]string, error) {
	if e.Network != nil {
		return e.Network.Addresses(each * e.Nodes), nil
	}
	return process.Addresses(each * e.Nodes)
}

// Programs are the paths of the servers' programs.
type Programs struct{ Etcd, NATS, Redis string }

var errNotHeld = errors.New("the session holds no lock")
