package web

import (
	"net"
	"net/netip"
	"sync"
)

// maxPerAddress is how many connections one address may have, three quarters of all, so that one client cannot keep the
// checks of the others out. It fits all event streams and views of the page, which may come through one proxy.
const maxPerAddress = maxConnections * 3 / 4

// fairListener closes the connections that an address opens above [maxPerAddress].
type fairListener struct {
	net.Listener
	mu   sync.Mutex
	open map[netip.Prefix]int
}

// Accept returns the next connection of an address that may have it.
func (l *fairListener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		of := networkOf(nc.RemoteAddr())
		if l.add(of) {
			return &fairConn{Conn: nc, close: sync.OnceFunc(func() { l.remove(of) })}, nil
		}
		_ = nc.Close()
	}
}

func (l *fairListener) add(of netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[of] >= maxPerAddress {
		return false
	}
	l.open[of]++
	return true
}

func (l *fairListener) remove(of netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[of]--; l.open[of] == 0 {
		delete(l.open, of)
	}
}

// fairConn is counted until it is closed.
type fairConn struct {
	net.Conn
	close func()
}

// Close closes the connection and gives its place back. It may be called twice.
func (c *fairConn) Close() error {
	c.close()
	return c.Conn.Close()
}

// networkOf returns what counts as one address: of IPv6 the 64 bits of a network, since a host may choose the others.
func networkOf(a net.Addr) netip.Prefix {
	tcp, _ := a.(*net.TCPAddr)
	ip := tcp.AddrPort().Addr().Unmap()
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	network, _ := ip.WithZone("").Prefix(bits) // the zero Prefix of what is no address
	return network
}
