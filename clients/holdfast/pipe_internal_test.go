package holdfast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// pipeServer speaks as much of the NATS protocol as a client of Holdfast needs, over pipes in the process, so that a
// client can run in virtual time. It is a nats.CustomDialer.
type pipeServer struct {
	// publish is called with what a client publishes.
	publish func(subject, reply string, data []byte)

	mu    sync.Mutex
	conns map[*pipeConn]struct{}
	off   bool
	// headed are the subjects of the messages that came with a header.
	headed []string
}

// pipeConn is one connection. What is sent on it waits in a queue, because a pipe has no buffer.
type pipeConn struct {
	net.Conn
	queue chan []byte
	// subscriptions are subjects by their number.
	subscriptions map[string]string
}

// Dial implements nats.CustomDialer.
func (s *pipeServer) Dial(string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return nil, io.ErrClosedPipe
	}
	client, server := net.Pipe()
	c := &pipeConn{Conn: server, queue: make(chan []byte, 1<<16), subscriptions: map[string]string{}}
	if s.conns == nil {
		s.conns = map[*pipeConn]struct{}{}
	}
	s.conns[c] = struct{}{}
	go c.writeAll()
	go s.read(c)
	return client, nil
}

func (c *pipeConn) writeAll() {
	for line := range c.queue {
		if _, err := c.Write(line); err != nil {
			break
		}
	}
	for range c.queue { // until it is closed
	}
}

func (s *pipeServer) read(c *pipeConn) {
	defer s.drop(c)
	c.queue <- []byte(`INFO {"server_id":"pipe","version":"2.11.0","headers":true,"max_payload":1048576,"proto":1}` +
		"\r\n")
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fields := strings.Fields(line)
		switch fields[0] {
		case "PING":
			s.send(c, "PONG\r\n")
		case "SUB":
			s.mu.Lock()
			c.subscriptions[fields[len(fields)-1]] = fields[1]
			s.mu.Unlock()
		case "UNSUB":
			s.mu.Lock()
			delete(c.subscriptions, fields[1])
			s.mu.Unlock()
		case "PUB", "HPUB":
			size, _ := strconv.Atoi(fields[len(fields)-1])
			data, header := make([]byte, size+2), 0
			if _, err := io.ReadFull(in, data); err != nil {
				return
			}
			if fields[0] == "HPUB" {
				header, _ = strconv.Atoi(fields[len(fields)-2])
				fields = append(fields[:len(fields)-2], fields[len(fields)-1])
				s.mu.Lock()
				s.headed = append(s.headed, fields[1])
				s.mu.Unlock()
			}
			reply := ""
			if len(fields) == 4 {
				reply = fields[2]
			}
			s.publish(fields[1], reply, data[header:size])
		}
	}
}

func (s *pipeServer) send(c *pipeConn, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; ok {
		c.queue <- []byte(text)
	}
}

// deliver sends a message to the subscribers of a subject.
func (s *pipeServer) deliver(subject string, data []byte) { s.deliverWith(subject, "", data) }

// deliverWith is deliver of a message that has a header; empty: it has none.
func (s *pipeServer) deliverWith(subject, header string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		for id, pattern := range c.subscriptions {
			if begin, ok := strings.CutSuffix(pattern, "*"); pattern == subject || ok && strings.HasPrefix(subject, begin) {
				if header == "" {
					c.queue <- fmt.Appendf(nil, "MSG %s %s %d\r\n%s\r\n", subject, id, len(data), data)
					continue
				}
				lines := "NATS/1.0\r\n" + header + "\r\n\r\n"
				c.queue <- fmt.Appendf(nil, "HMSG %s %s %d %d\r\n%s%s\r\n", subject, id, len(lines),
					len(lines)+len(data), lines, data)
			}
		}
	}
}

// drop ends a connection.
func (s *pipeServer) drop(c *pipeConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; ok {
		delete(s.conns, c)
		close(c.queue)
		_ = c.Close()
	}
}

// connect returns a connection that ends with the test.
func (s *pipeServer) connect(t *testing.T) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("nats://127.0.0.1:4222", nats.SetCustomDialer(s), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}
