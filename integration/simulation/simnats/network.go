package simnats

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"net"
	"slices"
	"sync"
	"time"
)

// Network is the NATS servers of a deployment, and the links between them and to the processes that use them. What is
// under way on a link arrives in its order or not at all, as with TCP. All methods but Dialer's are for the goroutine
// of the bus: see [Bus.Do].
type Network struct {
	Bus *Bus
	// Delay returns how long something takes on a link, from a number that is drawn.
	Delay func(drawn int) time.Duration
	// Users are the passwords and permissions of the users by their names; nil: everybody may do everything.
	Users map[string]User
	// JetStream is the account that has it; empty without accounts. Imports are those of all accounts.
	JetStream string
	Imports   []Import
	// Stored is called on the goroutine of the bus with each message of a stream when it is committed; nil: nothing is.
	Stored func(stream string, sequence uint64, subject string, data []byte)
	// Delivered is called on the goroutine of the bus with each message to a client of an account, as it is on the wire;
	// nil: nothing is.
	Delivered func(account string, message []byte)

	servers []*server
	conns   []*conn
	// mu guards what processes use by themselves: the dialers that there were, the connections that they have made, and
	// for writing what runs and what is up.
	mu       sync.Mutex
	dialers  int
	accepted []accepted
	// clients counts the connections that there were, consumers the consumers.
	clients   uint64
	consumers int
	down      map[link]int
	// slow is how much longer everything takes from and to an end.
	slow    map[string]time.Duration
	routes  map[link]*pipe
	streams map[string]*stream
	meta    meta
	// responses are the places for answers through imports, by the subjects that the service sees; places counts them.
	responses map[string]*response
	places    uint64
}

// User is a user of NATS.
type User struct {
	Password    string
	Account     string // empty without accounts
	Permissions Permissions
}

// link is one direction between two ends: processes and servers by their names.
type link struct{ from, to string }

func (l link) compare(o link) int {
	return cmp.Or(cmp.Compare(l.from, o.from), cmp.Compare(l.to, o.to))
}

// server is one NATS server.
type server struct {
	name string
	// down: it does not run.
	down bool
	// full is for how many reasons its disk stores nothing more.
	full int
}

// NewNetwork returns a network of servers of these names.
func NewNetwork(b *Bus, names ...string) *Network {
	n := &Network{
		Bus: b, down: make(map[link]int), slow: make(map[string]time.Duration), routes: make(map[link]*pipe),
		streams: make(map[string]*stream), responses: make(map[string]*response),
		Delay: func(drawn int) time.Duration { return time.Duration(50+drawn%1000) * time.Microsecond },
	}
	for _, name := range names {
		n.servers = append(n.servers, &server{name: name})
	}
	b.OnRest(n.takeIn)
	return n
}

// Close ends all connections, and the bus.
func (n *Network) Close() {
	n.Bus.Do(func() {
		n.guarded(func() {
			for _, s := range n.servers {
				s.down = true
			}
		})
		n.takeConns()
		for _, c := range slices.Clone(n.conns) {
			c.end()
		}
	})
	n.Bus.Close()
}

// server returns the server of a name.
func (n *Network) server(name string) *server {
	for _, s := range n.servers {
		if s.name == name {
			return s
		}
	}
	panic("there is no server " + name)
}

// Dialer is how a process reaches NATS: it implements nats.InProcessConnProvider.
type Dialer struct {
	network *Network
	process string
	servers []string
	next    int
	// number distinguishes the dialers.
	number int
}

// Dialer returns how a process connects: to the first one of the servers that it reaches.
func (n *Network) Dialer(process string, servers ...string) *Dialer {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialers++
	return &Dialer{network: n, process: process, servers: servers, number: n.dialers}
}

var errUnreachable = errors.New("the server cannot be reached")

// InProcessConn implements nats.InProcessConnProvider. It does not wait for the bus: nats.go holds a mutex meanwhile,
// and who waits for that is not at rest.
func (d *Dialer) InProcessConn() (net.Conn, error) {
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	for range d.servers {
		s := n.server(d.servers[d.next%len(d.servers)])
		if !s.down && n.isUp(d.process, s.name) && n.isUp(s.name, d.process) {
			c, client := n.accept(d.process, s)
			n.accepted = append(n.accepted, accepted{d.number, c})
			return client, nil
		}
		d.next++
	}
	return nil, errUnreachable
}

// accepted is a connection that the bus has yet to learn of.
type accepted struct {
	dialer int
	*conn
}

// takeConns takes in the connections that were made, in the order of their dialers.
func (n *Network) takeConns() {
	n.mu.Lock()
	made := n.accepted
	n.accepted = nil
	n.mu.Unlock()
	slices.SortStableFunc(made, func(a, b accepted) int { return cmp.Compare(a.dialer, b.dialer) })
	for _, a := range made {
		n.clients++
		a.id = n.clients
		n.conns = append(n.conns, a.conn)
		if a.server.down {
			a.end()
		}
	}
}

// isUp reports whether what one end sends reaches the other one.
func (n *Network) isUp(from, to string) bool { return from == to || n.down[link{from, to}] == 0 }

// Cut lets nothing pass from one end to another one, until [Network.Mend] is called as often. What is on its way waits,
// as TCP repeats it.
func (n *Network) Cut(from, to string) {
	n.guarded(func() { n.down[link{from, to}]++ })
	n.elect()
}

// Mend takes back one [Network.Cut].
func (n *Network) Mend(from, to string) {
	n.guarded(func() { n.down[link{from, to}]-- })
	for _, c := range n.conns {
		c.up.resume()
		c.downward.resume()
	}
	for _, l := range slices.SortedFunc(maps.Keys(n.routes), link.compare) {
		n.routes[l].resume()
	}
	n.elect()
}

// Slow lets everything from and to an end take so much longer; a negative time takes that back.
func (n *Network) Slow(end string, by time.Duration) { n.slow[end] += by }

func (n *Network) guarded(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

// Reset ends all connections of a process: what was on its way is lost.
func (n *Network) Reset(process string) {
	for _, c := range slices.Clone(n.conns) {
		if c.process == process {
			c.end()
		}
	}
}

// Stop stops a server as a crash does: its connections end, and what it has stored stays.
func (n *Network) Stop(name string) {
	s := n.server(name)
	n.guarded(func() { s.down = true })
	for _, c := range slices.Clone(n.conns) {
		if c.server == s {
			c.end()
		}
	}
	n.forget(s)
	for _, stream := range n.streams {
		for _, r := range stream.replicas {
			if r.server == s {
				r.crash()
			}
		}
	}
	n.elect()
}

// Start starts a server that was stopped.
func (n *Network) Start(name string) {
	n.guarded(func() { n.server(name).down = false })
	n.elect()
}

// Fill fills the disk of a server, and Empty makes room again.
func (n *Network) Fill(name string) { n.server(name).full++ }

// Empty takes back one [Network.Fill].
func (n *Network) Empty(name string) { n.server(name).full-- }

// Rewind gives a server that is stopped an older copy of its disk, unless it is the last one that has a stream as it is:
// this part of each log, from 0 for an empty disk. It gets the rest from the others.
func (n *Network) Rewind(name string, part float64) {
	s := n.server(name)
	for _, stream := range n.streams {
		for _, r := range stream.replicas {
			if r.server == s && stream.isWholeWithout(r) {
				r.synced = int(part * float64(r.synced))
				r.crash()
			}
		}
	}
}

// Clear removes all streams, as an operator does.
func (n *Network) Clear() { clear(n.streams) }

// delay draws how long something takes on a link.
func (n *Network) delay(what string) time.Duration {
	return n.Delay(n.Bus.Draw("delay "+what, math.MaxInt32))
}

// between lets something pass from one server to another one, in its order.
func (n *Network) between(from, to *server, what string, do func()) {
	if from == to {
		n.Bus.After(0, do)
		return
	}
	l := link{from.name, to.name}
	p := n.routes[l]
	if p == nil {
		p = &pipe{network: n, from: from.name, to: to.name}
		n.routes[l] = p
	}
	p.put(what, func() {
		if !from.down && !to.down {
			do()
		}
	})
}

// reaches reports whether one server has what another one sends.
func (n *Network) reaches(from, to *server) bool {
	return !from.down && !to.down && n.isUp(from.name, to.name)
}

// connected reports whether two servers reach one another.
func (n *Network) connected(a, b *server) bool { return n.reaches(a, b) && n.reaches(b, a) }

// pipe is one direction of a connection: what is put in comes out in its order.
type pipe struct {
	network  *Network
	from, to string
	last     time.Time
	held     []func()
	closed   bool
}

// put lets something pass.
func (p *pipe) put(what string, do func()) {
	n := p.network
	at := time.Now().Add(n.delay(p.from+" "+p.to+" "+what) + n.slow[p.from] + n.slow[p.to])
	if !at.After(p.last) { // of two that came at the same instant, Go's scheduler would decide which is handled first
		at = p.last.Add(time.Microsecond)
	}
	p.last = at
	n.Bus.At(at, func() { p.pass(do) })
}

func (p *pipe) pass(do func()) {
	switch {
	case p.closed:
	case len(p.held) > 0 || !p.network.isUp(p.from, p.to):
		p.held = append(p.held, do)
	default:
		do()
	}
}

// resume lets pass what was held, if the link is up.
func (p *pipe) resume() {
	if !p.network.isUp(p.from, p.to) {
		return
	}
	held := p.held
	p.held = nil
	for _, do := range held {
		p.put("held", do)
	}
}
