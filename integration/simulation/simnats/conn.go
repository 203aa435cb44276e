package simnats

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// conn is the connection of a process to a server, on the side of the server.
type conn struct {
	network *Network
	process string
	server  *server
	id      uint64
	socket  net.Conn
	// up and downward are the two directions.
	up, downward pipe

	user    Permissions
	account string
	options connectOptions
	began   time.Time
	// greeted: the process has an answer to its CONNECT; refused: it is not let in. Both are of the goroutine that
	// reads.
	greeted, refused bool
	subscriptions    []*subscription
	ended            bool

	mu sync.Mutex
	// arrived is what was read from the socket, and gone that it is closed; output is what has yet to be written.
	arrived []operation
	gone    bool
	output  [][]byte
	written chan struct{}
}

// operation is one line of the protocol, with its payload.
type operation struct {
	words  []string
	header []byte
	data   []byte
}

// subscription is one of a connection.
type subscription struct {
	conn                *conn
	subject, queue, sid string
	// left is how many messages it takes; 0: any number.
	left int
}

// message is one on its way.
type message struct {
	subject, reply string
	header, data   []byte
	// delivered is the subject that decides who gets it, if that is another one.
	delivered string
	// account is where it is; empty: that of JetStream. imported: it has passed the import of a service.
	account  string
	imported bool
	// from is whose message it is; nil: the server's.
	from *conn
}

// version is that of the server that is simulated.
const version = "2.15.2"

const (
	maxPayload  = 1 << 20
	clusterName = "simulation"
)

// connectOptions are what a client says in its CONNECT.
type connectOptions struct {
	User         string `json:"user"`
	Password     string `json:"pass"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Echo         bool   `json:"echo"`
	NoResponders bool   `json:"no_responders"`
}

// accept makes a connection to a server.
func (n *Network) accept(process string, s *server) (c *conn, client net.Conn) {
	client, socket := net.Pipe()
	c = &conn{
		network: n, process: process, server: s, socket: socket, written: make(chan struct{}, 1),
		up:       pipe{network: n, from: process, to: s.name},
		downward: pipe{network: n, from: s.name, to: process},
		began:    time.Now(),
	}
	info, _ := json.Marshal(map[string]any{
		"server_id": s.name, "server_name": s.name, "version": version, "proto": 1, "headers": true,
		"max_payload": maxPayload, "client_id": 1, "jetstream": true, "auth_required": n.Users != nil,
		"cluster": clusterName,
	})
	c.write(fmt.Appendf(nil, "INFO %s\r\n", info))
	go c.readAll()
	go c.writeAll()
	return c, client
}

// readAll reads until the socket is closed.
func (c *conn) readAll() {
	r := bufio.NewReaderSize(c.socket, 1<<16)
	for {
		op, err := readOperation(r)
		if err == nil && !c.greeted && c.greet(op) {
			continue
		}
		c.mu.Lock()
		if err != nil {
			c.gone = true
		} else {
			c.arrived = append(c.arrived, op)
		}
		c.mu.Unlock()
		c.network.Bus.Arrived()
		if err != nil {
			return
		}
	}
}

func readOperation(r *bufio.Reader) (op operation, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return op, err
	}
	line = strings.TrimRight(line, "\r\n")
	verb, rest, _ := strings.Cut(line, " ")
	if verb == "CONNECT" {
		return operation{words: []string{verb, rest}}, nil
	}
	op.words = strings.Fields(line)
	if len(op.words) == 0 {
		return op, errors.New("an empty line")
	}
	size := 0
	switch op.words[0] {
	case "PUB", "HPUB":
		if size, err = strconv.Atoi(op.words[len(op.words)-1]); err != nil {
			return op, err
		}
	default:
		return op, nil
	}
	payload := make([]byte, size+2)
	if _, err := io.ReadFull(r, payload); err != nil {
		return op, err
	}
	payload = payload[:size]
	if op.words[0] == "HPUB" {
		header, err := strconv.Atoi(op.words[len(op.words)-2])
		if err != nil || header > size {
			return op, errors.New("the length of the header")
		}
		op.header, payload = payload[:header], payload[header:]
	}
	op.data = payload
	return op, nil
}

// write lets bytes go to the process at once. That they took their time is decided before.
func (c *conn) write(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output = append(c.output, b)
	select {
	case c.written <- struct{}{}:
	default:
	}
}

// writeAll writes until the socket is closed.
func (c *conn) writeAll() {
	for range c.written {
		c.mu.Lock()
		output := bytes.Join(c.output, nil)
		c.output = nil
		c.mu.Unlock()
		if _, err := c.socket.Write(output); err != nil {
			return
		}
	}
}

// name distinguishes the connections of a process.
func (c *conn) name() string { return strconv.FormatUint(c.id, 10) }

// takeIn puts what processes have sent on its way, in the order of their connections.
func (n *Network) takeIn() {
	n.takeConns()
	for _, c := range slices.Clone(n.conns) {
		c.mu.Lock()
		arrived, gone := c.arrived, c.gone
		c.arrived = nil
		c.mu.Unlock()
		sortSubscriptions(arrived)
		if len(arrived) > 0 { // what is sent at the same instant arrives together
			c.up.put(c.name(), func() {
				for _, op := range arrived {
					c.take(op)
				}
			})
		}
		if gone && !c.ended {
			c.up.put(c.name(), c.end)
			c.ended = true
		}
	}
}

// sortSubscriptions sorts operations on subscriptions that come together: nats.go ends and renews its subscriptions in
// the order of a map, which means nothing.
func sortSubscriptions(all []operation) {
	isOne := func(o operation) bool { return o.words[0] == "SUB" || o.words[0] == "UNSUB" }
	for begin := 0; begin < len(all); begin++ {
		end := begin
		for end < len(all) && isOne(all[end]) {
			end++
		}
		slices.SortStableFunc(all[begin:end], func(a, b operation) int { return a.sid() - b.sid() })
		begin = end
	}
}

// sid returns the number of the subscription that an operation is about.
func (o operation) sid() int {
	word := o.words[len(o.words)-1]
	if o.words[0] == "UNSUB" {
		word = o.words[1]
	}
	n, _ := strconv.Atoi(word)
	return n
}

// end ends the connection.
func (c *conn) end() {
	c.ended, c.up.closed, c.downward.closed = true, true, true
	_ = c.socket.Close()
	c.mu.Lock()
	if c.written != nil {
		close(c.written)
		c.written = nil
	}
	c.mu.Unlock()
	c.subscriptions = nil
	c.network.conns = slices.DeleteFunc(c.network.conns, func(x *conn) bool { return x == c })
}

// send lets a line of the protocol go down to the process.
func (c *conn) send(what string, b []byte) {
	c.downward.put(c.name()+what, func() { c.write(b) })
}

func (c *conn) sendError(text string) { c.send("error", fmt.Appendf(nil, "-ERR '%s'\r\n", text)) }

// take takes in an operation of the process.
func (c *conn) take(op operation) {
	words := op.words
	if trace := c.network.Bus.Trace; trace != nil {
		trace(time.Now(), c.process+" "+words[0]+" "+c.subjectOf(words))
	}
	switch strings.ToUpper(words[0]) {
	case "PING":
		c.send("pong", []byte("PONG\r\n"))
	case "PONG":
	case "SUB":
		c.subscribe(words[1:])
	case "UNSUB":
		c.unsubscribe(words[1:])
	case "PUB":
		c.publish(words[1:len(words)-1], op)
	case "HPUB":
		c.publish(words[1:len(words)-2], op)
	}
}

// subjectOf returns the subject of an operation, as far as it is not drawn at random.
func (c *conn) subjectOf(words []string) string {
	if len(words) == 1 {
		return ""
	}
	if words[0] == "UNSUB" {
		for _, s := range c.subscriptions {
			if s.sid == words[1] {
				return named(s.subject)
			}
		}
	}
	return named(words[1])
}

// greet answers what a process sends first, and reports whether that was it: its CONNECT and the PING behind it. It
// does so at once: nats.go holds a mutex until the answer is there.
func (c *conn) greet(op operation) bool {
	switch op.words[0] {
	case "CONNECT":
		c.connect(op.words[1])
	case "PING":
		c.greeted = true
		if c.refused {
			c.write([]byte("-ERR 'Authorization Violation'\r\n"))
		} else {
			c.write([]byte("PONG\r\n"))
		}
	default:
		return false
	}
	return true
}

// connect lets a user in, or not.
func (c *conn) connect(options string) {
	c.options.Echo = true
	if err := json.Unmarshal([]byte(options), &c.options); err != nil {
		c.refused = true
		return
	}
	if c.network.Users == nil {
		return
	}
	user, known := c.network.Users[c.options.User]
	if !known || user.Password != c.options.Password {
		c.refused = true
		return
	}
	c.user, c.account = user.Permissions, user.Account
}

func (c *conn) subscribe(words []string) {
	s := &subscription{conn: c, subject: words[0], sid: words[len(words)-1]}
	if len(words) == 3 {
		s.queue = words[1]
	}
	if !c.user.Subscribe.permits(s.subject) {
		c.sendError(fmt.Sprintf("Permissions Violation for Subscription to %q", s.subject))
		return
	}
	c.subscriptions = append(c.subscriptions, s)
}

func (c *conn) unsubscribe(words []string) {
	left := 0
	if len(words) > 1 {
		left, _ = strconv.Atoi(words[1])
	}
	for _, s := range slices.Clone(c.subscriptions) {
		if s.sid == words[0] {
			if s.left = left; left == 0 {
				s.remove()
			}
		}
	}
}

func (s *subscription) remove() {
	s.conn.subscriptions = slices.DeleteFunc(s.conn.subscriptions, func(x *subscription) bool { return x == s })
}

// publish routes a message of the process.
func (c *conn) publish(subjects []string, op operation) {
	m := &message{subject: subjects[0], header: op.header, data: op.data, from: c, account: c.account}
	if len(subjects) > 1 {
		m.reply = subjects[1]
	}
	if !c.user.Publish.permits(m.subject) {
		c.sendError(fmt.Sprintf("Permissions Violation for Publish to %q", m.subject))
		return
	}
	if strings.HasPrefix(m.reply, responsePrefix) {
		c.sendError(fmt.Sprintf("Permissions Violation for Publish with Reply of %q", m.reply))
		return
	}
	if !c.network.route(c.server, m) && m.reply != "" && c.options.NoResponders {
		c.network.route(c.server, &message{
			subject: m.reply, header: fmt.Appendf(nil, "NATS/1.0 503\r\nNats-Subject: %s\r\n\r\n", m.subject),
			account: c.account,
		})
	}
}

// route lets a message go from a server to all who get it, and reports whether there are any.
func (n *Network) route(at *server, m *message) bool {
	m.account = cmp.Or(m.account, n.JetStream)
	some := n.spread(at, m)
	some = n.cross(at, m) || some
	return n.store(at, m) || some
}

// spread lets a message go to the subscribers of its account, and reports whether there are any.
func (n *Network) spread(at *server, m *message) (some bool) {
	to := m.delivered
	if to == "" {
		to = m.subject
	}
	queues := make(map[string][]*subscription)
	var names []string
	for _, c := range n.conns {
		if !n.reaches(at, c.server) || c.ended || c.account != m.account || c == m.from && !c.options.Echo {
			continue
		}
		for _, s := range c.subscriptions {
			switch {
			case !matches(s.subject, to) || !c.user.Subscribe.delivers(to):
			case s.queue == "":
				some = true
				n.deliver(at, s, m)
			default:
				if len(queues[s.queue]) == 0 {
					names = append(names, s.queue)
				}
				queues[s.queue] = append(queues[s.queue], s)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		members := queues[name]
		some = true
		n.deliver(at, members[n.Bus.Draw("member "+name+named(m.subject), len(members))], m)
	}
	return some
}

// delivers reports whether a subject that was subscribed to is not denied.
func (s Subjects) delivers(subject string) bool {
	return !slices.ContainsFunc(s.Deny, func(p string) bool { return matches(p, subject) })
}

// deliver lets a message go to a subscription.
func (n *Network) deliver(at *server, s *subscription, m *message) {
	if s.left > 0 {
		if s.left--; s.left == 0 {
			defer s.remove()
		}
	}
	var b []byte
	reply := m.reply
	if reply != "" {
		reply += " "
	}
	if len(m.header) > 0 {
		b = fmt.Appendf(b, "HMSG %s %s %s%d %d\r\n", m.subject, s.sid, reply, len(m.header), len(m.header)+len(m.data))
		b = append(b, m.header...)
	} else {
		b = fmt.Appendf(b, "MSG %s %s %s%d\r\n", m.subject, s.sid, reply, len(m.data))
	}
	b = append(append(b, m.data...), '\r', '\n')
	if n.Delivered != nil {
		n.Delivered(s.conn.account, b)
	}
	if at == s.conn.server {
		s.conn.send(named(m.subject), b)
		return
	}
	n.between(at, s.conn.server, named(m.subject), func() {
		if !s.conn.ended {
			s.conn.send(named(m.subject), b)
		}
	})
}

// named returns of a subject what is not drawn at random.
func named(subject string) string {
	for _, random := range []string{"_INBOX.", responsePrefix} {
		if strings.HasPrefix(subject, random) {
			return strings.TrimSuffix(random, ".")
		}
	}
	if before, rest, is := strings.Cut(subject, ".~door."); is {
		_, rest, _ = strings.Cut(rest, ".")
		return before + ".~door." + rest
	}
	if api, is := strings.CutPrefix(subject, apiPrefix+"CONSUMER."); is {
		verb, _, _ := strings.Cut(api, ".")
		return "CONSUMER." + verb
	}
	return subject
}
