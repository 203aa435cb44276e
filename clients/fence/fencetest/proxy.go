package fencetest

import (
	"net"
	"sync"
	"testing"
)

// direction is where the bytes go that a proxy holds.
type direction uint8

const (
	toServer direction = iota
	toClient
)

// proxy stands between a driver and the server of a store. It looks at bytes in the moment before they
// are passed on, one piece at a time, and breaks the connection instead if losing says so.
type proxy struct {
	testing.TB
	running sync.WaitGroup
	passing sync.Mutex // held while a piece is looked at: all others wait

	mu        sync.Mutex
	closed    bool
	addresses map[string]string // where it listens, by the server behind
	open      map[net.Conn]bool
	listeners []net.Listener

	// loses reports whether the piece that is about to be passed on is lost with its connection; nil: none is.
	loses func(direction) bool
}

func newProxy(tb testing.TB) *proxy {
	tb.Helper()
	p := &proxy{TB: tb, addresses: map[string]string{}, open: map[net.Conn]bool{}}
	tb.Cleanup(p.close)
	return p
}

// via returns the address at which the proxy stands before a server.
func (p *proxy) via(server string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if addr, ok := p.addresses[server]; ok {
		return addr
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.Errorf("the proxy cannot listen: %v", err)
		return server
	}
	p.listeners = append(p.listeners, l)
	p.addresses[server] = l.Addr().String()
	p.running.Go(func() { p.accept(l, server) })
	return p.addresses[server]
}

// losing sets what is lost from now on.
func (p *proxy) losing(f func(direction) bool) {
	p.passing.Lock()
	defer p.passing.Unlock()
	p.loses = f
}

func (p *proxy) accept(l net.Listener, server string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("tcp", server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.register(client, back) {
			return
		}
		p.running.Go(func() { p.pass(client, back, toServer) })
		p.running.Go(func() { p.pass(back, client, toClient) })
	}
}

// register remembers both ends of a connection, unless the proxy was closed meanwhile.
func (p *proxy) register(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		if p.closed {
			_ = c.Close()
		}
		p.open[c] = true
	}
	return !p.closed
}

// pass passes bytes on until one side ends, which ends the other.
func (p *proxy) pass(from, to net.Conn, d direction) {
	defer p.drop(from, to)
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 && p.lost(d) {
			return
		}
		if _, wrong := to.Write(piece[:n]); err != nil || wrong != nil {
			return
		}
	}
}

func (p *proxy) lost(d direction) bool {
	p.passing.Lock()
	defer p.passing.Unlock()
	return p.loses != nil && p.loses(d)
}

func (p *proxy) drop(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		_ = c.Close()
		delete(p.open, c)
	}
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.listeners {
		_ = l.Close()
	}
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}
