//go:build linux

package cluster

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test makes network namespaces, devices and mounts; run it as root")
	}
}

// pair is two namespaces on one network. What a sends over UDP, b sends back.
type pair struct {
	*testing.T
	*network
	inside [2]*namespace
	addr   [2]netip.Addr
	a, b   *net.UDPConn
	round  byte
}

func newPair(t *testing.T) *pair {
	t.Helper()
	needRoot(t)
	n, err := newNetwork(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	p := &pair{T: t, network: n}
	p.a, p.b = p.listen(0, "a"), p.listen(1, "b")
	go func() {
		buf := make([]byte, 16)
		for {
			size, from, err := p.b.ReadFromUDPAddrPort(buf)
			if err != nil {
				return // closed
			}
			_, _ = p.b.WriteToUDPAddrPort(buf[:size], from)
		}
	}()
	return p
}

func (p *pair) listen(i int, name string) *net.UDPConn {
	p.Helper()
	var err error
	if p.inside[i], err = newNamespace(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(p.inside[i].close)
	if p.addr[i], err = p.join(name, p.inside[i], byte(11+i)); err != nil {
		p.Fatal(err)
	}
	var c *net.UDPConn
	if err := p.inside[i].inside(func() (err error) {
		c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.addr[i], 7)))
		return err
	}); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { c.Close() })
	return c
}

// echoes sends packets from a to b, and returns how many came back and how long the fastest took. It waits
// for so many. Those of an earlier call do not count.
func (p *pair) echoes(packets, want int) (back int, fastest time.Duration) {
	p.Helper()
	start := time.Now()
	p.round++
	for range packets {
		if _, err := p.a.WriteTo([]byte{p.round}, p.b.LocalAddr()); err != nil {
			p.Fatal(err)
		}
	}
	wait := 500 * time.Millisecond // for those that must not come
	if want > 0 {
		wait = patience
	}
	if err := p.a.SetReadDeadline(start.Add(wait)); err != nil {
		p.Fatal(err)
	}
	for back < max(want, 1) {
		packet := make([]byte, 16)
		_, _, err := p.a.ReadFrom(packet)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			p.Fatal(err)
		}
		if packet[0] != p.round {
			continue
		}
		if back++; back == 1 {
			fastest = time.Since(start)
		}
	}
	return back, fastest
}

// with lets a rule hold for a while.
func (p *pair) with(r *rule, f func()) {
	p.Helper()
	p.add(r)
	defer p.remove(r)
	f()
}

func (p *pair) mustEcho(packets, want int) {
	p.Helper()
	if back, _ := p.echoes(packets, want); back != want {
		p.Errorf("%d of %d packets came back, not %d", back, packets, want)
	}
}

func every(string, string) bool { return true }

func TestNetwork(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.mustEcho(100, 100)

	for name, covers := range map[string]func([]string) func(string, string) bool{
		"isolated": touches, "partitioned": touchesNodes, "deaf": leadsTo, "mute": leadsFrom,
	} {
		r := &rule{covers: covers([]string{"b"}), lose: 1}
		p.with(r, func() { p.mustEcho(5, 0) })
		if r.lost.Load() < 5 {
			t.Errorf("%s: %d lost", name, r.lost.Load())
		}
		p.mustEcho(1, 1)
	}
	for _, r := range []*rule{
		{covers: touchesClients([]string{"b"}), lose: 1}, // the two are no clients
		{covers: leadsTo([]string{"c"}), lose: 1},
	} {
		p.with(r, func() { p.mustEcho(5, 5) })
		if r.lost.Load() != 0 {
			t.Errorf("%d lost", r.lost.Load())
		}
	}

	r := &rule{covers: every, lose: 0.5}
	p.with(r, func() { p.mustEcho(150, 10) }) // no more, as sockets have room for some 200
	if lost := r.lost.Load(); lost < 10 {
		t.Errorf("%d lost", lost)
	}
	r = &rule{covers: leadsTo([]string{"b"}), duplicate: 1}
	p.with(r, func() { p.mustEcho(10, 20) })
	r = &rule{covers: every, delay: 50 * time.Millisecond, jitter: 10 * time.Millisecond}
	p.with(r, func() {
		if back, fastest := p.echoes(20, 20); back != 20 || fastest < 80*time.Millisecond {
			t.Errorf("%d came back, the first after %v", back, fastest)
		}
	})
	if r.delayed.Load() < 40 {
		t.Errorf("%d delayed", r.delayed.Load())
	}
}

// A connection is reset at both ends.
func TestReset(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	var l net.Listener
	if err := p.inside[1].inside(func() (err error) {
		l, err = net.Listen("tcp4", net.JoinHostPort(p.addr[1].String(), "8"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			accepted <- c
		}
		close(accepted)
	}()
	var c net.Conn
	if err := p.inside[0].inside(func() (err error) {
		c, err = net.DialTimeout("tcp4", l.Addr().String(), patience)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other, ok := <-accepted
	if !ok {
		t.Fatal("not accepted")
	}
	defer other.Close()
	for _, end := range []net.Conn{c, other} {
		if err := end.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	r := &rule{covers: every, reset: 1}
	p.with(r, func() {
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(other); !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("the receiver: %v", err)
		}
	})
	if r.resets.Load() == 0 {
		t.Error("no frame was made a reset")
	}
	if _, err := io.ReadAll(c); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the sender: %v", err)
	}
}
