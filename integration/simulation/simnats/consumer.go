package simnats

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumer reads a stream on one of its servers, which may be behind.
type consumer struct {
	replica *replica
	name    string
	// number distinguishes the consumers of a network, in the order in which they were made.
	number  int
	config  jetstream.ConsumerConfig
	created time.Time
	// next is the sequence from which on messages are delivered, delivered counts them.
	next, delivered uint64
	pulls           []*pull
	// used is when it was last asked.
	used time.Time
}

// pull is a request for messages.
type pull struct {
	reply     string
	batch     int
	bytes     int
	heartbeat time.Duration
	// sent is when something was last delivered.
	sent time.Time
}

// createConsumer makes a consumer of a stream, on any server that has that.
func (n *Network) createConsumer(at *server, stream, name string, m *message) {
	var request struct {
		Config jetstream.ConsumerConfig `json:"config"`
	}
	s := n.streams[stream]
	if s == nil {
		n.refuse(at, m.reply, errStreamNotFound)
		return
	}
	if err := json.Unmarshal(m.data, &request); err != nil {
		n.refuse(at, m.reply, refusal(400, 10025, "invalid JSON: %v", err))
		return
	}
	var on []*replica
	for _, r := range s.replicas {
		if !r.server.down && (r.server == at || n.connected(at, r.server)) {
			on = append(on, r)
		}
	}
	if len(on) == 0 {
		n.refuse(at, m.reply, refusal(400, 10005, "no suitable peers for placement"))
		return
	}
	n.consumers++
	c := &consumer{
		replica: on[n.Bus.Draw("consumer "+stream, len(on))], name: name, number: n.consumers, config: request.Config,
		created: time.Now(), next: 1, used: time.Now(),
	}
	switch c.config.DeliverPolicy {
	case jetstream.DeliverByStartSequencePolicy:
		c.next = c.config.OptStartSeq
	case jetstream.DeliverNewPolicy:
		c.next = c.replica.store.last + 1
	}
	s.consumers[name] = c
	n.expire(c)
	n.answer(at, m.reply, map[string]any{
		"type": "io.nats.jetstream.api.v1.consumer_create_response", "stream_name": stream, "name": name,
		"created": c.created, "config": c.config,
		"num_pending": c.replica.store.pending(c.next, c.config.FilterSubject),
	})
}

// expire removes a consumer that nobody asks any more.
func (n *Network) expire(c *consumer) {
	life := c.config.InactiveThreshold
	if life == 0 {
		life = 5 * time.Second
	}
	n.Bus.After(life, func() {
		switch s := c.replica.stream; {
		case s.consumers[c.name] != c:
		case len(c.pulls) == 0 && time.Since(c.used) >= life:
			c.remove()
		default:
			n.expire(c)
		}
	})
}

// remove removes a consumer, as one that nobody asks any more, or whose server has crashed.
func (c *consumer) remove() {
	delete(c.replica.stream.consumers, c.name)
	for _, p := range slices.Clone(c.pulls) {
		c.finish(p, "409 Consumer Deleted")
	}
	c.pulls = nil
}

// pull takes a request for messages.
func (c *consumer) pull(m *message) {
	var request struct {
		Batch     int           `json:"batch"`
		MaxBytes  int           `json:"max_bytes"`
		NoWait    bool          `json:"no_wait"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}
	_ = json.Unmarshal(m.data, &request)
	if c.replica.stream.consumers[c.name] != c {
		return
	}
	n := c.replica.stream.network
	p := &pull{reply: m.reply, batch: max(request.Batch, 1), bytes: request.MaxBytes, heartbeat: request.Heartbeat,
		sent: time.Now()}
	c.used = time.Now()
	c.pulls = append(c.pulls, p)
	c.pump()
	if request.NoWait {
		c.finish(p, "404 No Messages")
		return
	}
	if request.Expires > 0 {
		n.Bus.After(request.Expires, func() { c.finish(p, "408 Request Timeout") })
	}
	c.beat(p)
}

// beat shows that a consumer without messages is there.
func (c *consumer) beat(p *pull) {
	if p.heartbeat == 0 {
		return
	}
	n := c.replica.stream.network
	n.Bus.After(p.heartbeat, func() {
		if !slices.Contains(c.pulls, p) {
			return
		}
		if time.Since(p.sent) >= p.heartbeat {
			c.status(p, "100 Idle Heartbeat")
		}
		c.beat(p)
	})
}

func (c *consumer) status(p *pull, status string) {
	p.sent = time.Now()
	header := fmt.Appendf(nil, "NATS/1.0 %s\r\n", status)
	if status != "100 Idle Heartbeat" {
		header = fmt.Appendf(header, "Nats-Pending-Messages: %d\r\nNats-Pending-Bytes: %d\r\n", p.batch,
			max(p.bytes, 0))
	}
	header = append(header, '\r', '\n')
	c.replica.stream.network.route(c.replica.server, &message{subject: p.reply, header: header})
}

// finish ends a request that is not fulfilled.
func (c *consumer) finish(p *pull, status string) {
	if place := slices.Index(c.pulls, p); place >= 0 && !c.replica.server.down {
		c.pulls = slices.Delete(c.pulls, place, place+1)
		c.used = time.Now()
		c.status(p, status)
	}
}

// pump delivers what there is.
func (c *consumer) pump() {
	n := c.replica.stream.network
	for len(c.pulls) > 0 {
		p := c.pulls[0]
		m := c.replica.store.next(c.next, c.config.FilterSubject)
		if m == nil {
			return
		}
		if p.bytes > 0 {
			if p.bytes -= m.size(); p.bytes < 0 {
				p.bytes = 0
				c.finish(p, "409 Message Size Exceeds MaxBytes")
				continue
			}
		}
		c.next, c.delivered = m.sequence+1, c.delivered+1
		pending := c.replica.store.pending(c.next, c.config.FilterSubject)
		ack := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.%d.%d.%d", c.replica.stream.config.Name, c.name, m.sequence, c.delivered,
			m.at.UnixNano(), pending)
		n.route(c.replica.server, &message{
			subject: m.subject, delivered: p.reply, reply: ack, header: m.header, data: m.data,
		})
		p.sent, c.used = time.Now(), time.Now()
		if p.batch--; p.batch == 0 {
			c.pulls = slices.Delete(c.pulls, 0, 1)
		}
	}
}
