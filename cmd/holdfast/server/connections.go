package server

import (
	"cmp"
	"crypto/rand"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// connections are separate so that a flood on one does not delay the others.
type connections struct {
	intake  *nats.Conn // receives requests
	outbox  *nats.Conn // sends answers
	events  *nats.Conn // publishes events
	peers   *nats.Conn // exchanges messages with other nodes; nil if there are none
	storage *nats.Conn // reads and writes the journals
}

// openConnections opens all of them. If one fails, it closes the others.
func (s *Server) openConnections() (*connections, error) {
	c := &connections{}
	for _, conn := range []struct {
		to      **nats.Conn
		role    string
		skipped bool
		options []nats.Option
	}{
		{to: &c.intake, role: "intake"},
		{to: &c.outbox, role: "outbox"},
		{to: &c.events, role: "events", options: []nats.Option{nats.NoEcho()}},
		{to: &c.peers, role: "peers", skipped: s.cfg.Alone},
		{to: &c.storage, role: "storage"},
	} {
		if conn.skipped {
			continue
		}
		nc, err := s.dial("holdfast "+s.cfg.Name+" "+conn.role, conn.options...)
		if err != nil {
			c.close()
			return nil, err
		}
		*conn.to = nc
	}
	return c, nil
}

// dial opens a connection whose inboxes cannot be guessed: those of NATS are numbered, and clients see some of the
// node's.
func (s *Server) dial(name string, options ...nats.Option) (*nats.Conn, error) {
	prefix := "_INBOX"
	if s.cfg.NATS != nil {
		prefix = cmp.Or(s.cfg.NATS.InboxPrefix, prefix)
	}
	inbox := nats.CustomInboxPrefix(prefix + "." + rand.Text())
	options = append(append(options, s.cfg.Login...), nats.Name(name), inbox)
	if s.nats != nil {
		return s.nats.Connect(options...)
	}
	return natsconn.Open(*s.cfg.NATS, name, s.cfg.Log, options...)
}

func (c *connections) all() (all []*nats.Conn) {
	for _, nc := range []*nats.Conn{c.intake, c.outbox, c.events, c.peers, c.storage} {
		if nc != nil {
			all = append(all, nc)
		}
	}
	return all
}

// close closes all of them. It may be called twice.
func (c *connections) close() {
	for _, nc := range c.all() {
		nc.Close()
	}
}

// reason returns the last error of a connection of the node.
func (c *connections) reason() error {
	for _, nc := range c.all() {
		if err := nc.LastError(); nc != c.storage && err != nil {
			return err
		}
	}
	return nats.ErrConnectionClosed
}
