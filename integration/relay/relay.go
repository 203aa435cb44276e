// Package relay stands between NATS clients and a server and carries what they say, message by message.
package relay

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
)

// Judge decides about a message: it passes it, or another one, to send, at once or later, once, several times or never.
// It is called with the messages of a connection in their order. send may be called from any goroutine.
type Judge func(m Message, send func(Message))

// Relay carries messages between clients and a server. Its methods are safe for concurrent use.
type Relay struct {
	listener          net.Listener
	server            string
	requests, answers Judge
	running           sync.WaitGroup

	mu              sync.Mutex
	closed, severed bool
	links           map[net.Conn]bool
}

// Listen starts a relay before the server of a URL, on a free port of the loopback interface. requests decides about
// what clients publish, answers about what the server delivers; nil passes all.
func Listen(url string, requests, answers Judge) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{
		listener: listener, server: strings.TrimPrefix(url, "nats://"), requests: requests, answers: answers,
		links: map[net.Conn]bool{},
	}
	r.running.Go(r.accept)
	return r, nil
}

// URL is where clients find the relay.
func (r *Relay) URL() string { return "nats://" + r.listener.Addr().String() }

// Cut breaks every connection, once.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.links {
		_ = c.Close()
	}
}

// Sever breaks every connection and refuses new ones until [Relay.Reopen].
func (r *Relay) Sever() {
	r.refuse(true)
	r.Cut()
}

// Reopen takes connections again.
func (r *Relay) Reopen() { r.refuse(false) }

func (r *Relay) refuse(all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.severed = all
}

// Close ends the relay, and returns when all of its goroutines have ended. No judge may block.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	_ = r.listener.Close()
	r.Cut()
	r.running.Wait()
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !r.admit(client, server) {
			_ = client.Close()
			_ = server.Close()
			continue
		}
		r.running.Go(func() { r.carry(client, server, r.requests) })
		r.running.Go(func() { r.carry(server, client, r.answers) })
	}
}

func (r *Relay) admit(ends ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.severed {
		return false
	}
	for _, c := range ends {
		r.links[c] = true
	}
	return true
}

func (r *Relay) forget(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.links, c)
}

// carry takes everything from one end to the other, as judged.
func (r *Relay) carry(from, to net.Conn, judge Judge) {
	defer r.forget(from)
	defer func() { _ = to.Close() }()
	if judge == nil {
		_, _ = io.Copy(to, from) // the other direction finds out as well
		return
	}
	in := bufio.NewReader(from)
	var turn sync.Mutex // some is sent later, from elsewhere
	send := func(m Message) {
		turn.Lock()
		defer turn.Unlock()
		_, _ = to.Write(m.raw)
	}
	for {
		m, err := read(in)
		if err != nil {
			return
		}
		judge(m, send)
	}
}
