// Package proxy stands between NATS clients and a server and lets tests lose, double, delay and replace messages, and
// break connections.
package proxy

import (
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/integration/relay"
)

// Proxy stands between clients and a server and reads their protocol, so that it loses and delays whole
// messages and nothing else is disturbed.
type Proxy struct {
	relay *relay.Relay

	mu sync.Mutex
	// hole: connections seem to get through, and everything is lost. stall is there while nothing is taken, and closed
	// when that is over.
	hole  bool
	stall chan struct{}
	// requests and answers say what becomes of a message; nil: it passes. Both get the subject that was
	// asked.
	requests, answers func(subject string) Verdict
	// forge is that of the rule that has applied last.
	forge func(body []byte) []byte
	// rules come before requests and answers.
	rules []*Rule
	// info returns what clients get in the place of the line in which the server introduces itself; nil: that line.
	info  func(string) string
	asked map[string]string // subject by reply subject
	kept  []func()          // how to send what was kept
	seen  map[string]int    // how often an operation was asked for
}

// Verdict is what becomes of a message.
type Verdict uint8

// The verdicts.
const (
	Pass Verdict = iota
	Lose
	Keep // for [Proxy.Deliver]
	Double
	Forge // as the rule forges it
	Miss  // answered with JetStream's "stream not found" in its place
)

// Direction is where a message goes.
type Direction uint8

// The directions.
const (
	Requests Direction = iota
	Answers
	// Notices go to a client, which has not asked for them; events are none.
	Notices
)

// Rule is what becomes of the requests of one operation, or of the answers to them.
type Rule struct {
	Direction Direction
	// Op is the operation; empty: all. Notices have none.
	Op      string
	Verdict Verdict
	// Times is to how many messages the rule applies; 0: to all.
	Times int
	// Forge returns what a message has in the place of its body, for [Forge].
	Forge func(body []byte) []byte
	// applied is to how many it has.
	applied int
}

// applies reports whether the rule decides about a message, and counts it.
func (r *Rule) applies(d Direction, subject string) bool {
	if r.Direction != d || r.Op != "" && r.Op != operation(subject) || r.Times > 0 && r.applied == r.Times {
		return false
	}
	r.applied++
	return true
}

// New starts a proxy before a server, which ends with the test.
func New(tb testing.TB, url string) *Proxy {
	tb.Helper()
	p := &Proxy{asked: map[string]string{}, seen: map[string]int{}}
	var err error
	if p.relay, err = relay.Listen(url, p.judged(p.request), p.judged(p.answer)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.Resume() // so that nothing is stalled
		p.relay.Close()
	})
	return p
}

// URL is where clients find the proxy.
func (p *Proxy) URL() string { return p.relay.URL() }

// change changes how the proxy treats what comes from now on.
func (p *Proxy) change(f func(*Proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// OnRequests lets judge decide about requests from now on: those of one operation, or all if op is empty.
func (p *Proxy) OnRequests(op string, judge func() Verdict) {
	p.change(func(p *Proxy) { p.requests = about(op, judge) })
}

// OnAnswers lets judge decide about the answers to requests of one operation, or of all if op is empty.
func (p *Proxy) OnAnswers(op string, judge func() Verdict) {
	p.change(func(p *Proxy) { p.answers = about(op, judge) })
}

// Add adds a rule. It counts from now on, until [Proxy.Resume]. The first rule that applies to a message decides; where
// none does, [Proxy.OnRequests] and [Proxy.OnAnswers] do.
func (p *Proxy) Add(r Rule) { p.change(func(p *Proxy) { p.rules = append(p.rules, &r) }) }

// OnInfo lets rewrite change the line in which the server introduces itself to a client from now on.
func (p *Proxy) OnInfo(rewrite func(line string) string) {
	p.change(func(p *Proxy) { p.info = rewrite })
}

func about(op string, judge func() Verdict) func(string) Verdict {
	return func(subject string) Verdict {
		if op != "" && operation(subject) != op {
			return Pass
		}
		return judge()
	}
}

// operation returns what is asked for on a subject of either endpoint.
func operation(subject string) string {
	parts := strings.Split(subject, ".")
	switch {
	case len(parts) > 3 && parts[1] == "shard":
		return parts[3]
	case len(parts) > 1:
		return parts[1]
	}
	return ""
}

// First applies a verdict to the first n messages, and lets the others pass.
func First(n int, v Verdict) func() Verdict {
	return func() Verdict {
		if n--; n >= 0 {
			return v
		}
		return Pass
	}
}

// Always applies a verdict to every message.
func Always(v Verdict) func() Verdict { return func() Verdict { return v } }

// Cut breaks every connection, once.
func (p *Proxy) Cut() { p.relay.Cut() }

// Sever breaks every connection and refuses new ones until [Proxy.Resume].
func (p *Proxy) Sever() { p.relay.Sever() }

// Blackhole loses everything in both directions until [Proxy.Resume], without an error.
func (p *Proxy) Blackhole() { p.change(func(p *Proxy) { p.hole = true }) }

// Clog takes nothing from either side until [Proxy.Resume], so that the buffers of the sockets fill.
func (p *Proxy) Clog() { p.change(func(p *Proxy) { p.stall = make(chan struct{}) }) }

// Resume lets everything pass again: it ends what [Proxy.Reopen] ends, and removes all rules. What was kept stays kept.
func (p *Proxy) Resume() {
	p.change(func(p *Proxy) { p.requests, p.answers, p.rules = nil, nil, nil })
	p.Reopen()
}

// Reopen ends [Proxy.Sever], [Proxy.Blackhole] and [Proxy.Clog]. Connections that were broken stay so.
func (p *Proxy) Reopen() {
	p.relay.Reopen()
	p.change(func(p *Proxy) {
		p.hole = false
		if p.stall != nil {
			close(p.stall)
			p.stall = nil
		}
	})
}

// Deliver sends what was kept.
func (p *Proxy) Deliver() {
	p.mu.Lock()
	kept := p.kept
	p.kept = nil
	p.mu.Unlock()
	for _, send := range kept {
		send()
	}
}

// Answered returns a channel that receives once an answer to an operation passes from now on.
func (p *Proxy) Answered(op string) <-chan struct{} {
	came := make(chan struct{}, 1)
	p.OnAnswers(op, func() Verdict {
		select {
		case came <- struct{}{}:
		default:
		}
		return Pass
	})
	return came
}

// Count returns how often an operation was asked for.
func (p *Proxy) Count(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[op]
}

// judged returns what decides about the messages in one direction.
func (p *Proxy) judged(judge func(relay.Message) Verdict) relay.Judge {
	return func(m relay.Message, send func(relay.Message)) {
		switch p.judge(m, judge) {
		case Pass:
			send(p.rewritten(m))
		case Double:
			send(m)
			send(m)
		case Keep:
			p.change(func(p *Proxy) { p.kept = append(p.kept, func() { send(m) }) })
		case Miss:
			send(m.Answered(notFound))
		case Forge:
			send(p.forged(m))
		case Lose:
		}
	}
}

// rewritten returns a message as clients get it.
func (p *Proxy) rewritten(m relay.Message) relay.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line, ok := m.Info(); ok && p.info != nil {
		return m.WithInfo(p.info(line))
	}
	return m
}

func (p *Proxy) judge(m relay.Message, judge func(relay.Message) Verdict) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stall != nil {
		stall := p.stall
		p.mu.Unlock()
		<-stall
		p.mu.Lock()
	}
	v := judge(m)
	if p.hole {
		return Lose
	}
	return v
}

func (p *Proxy) request(m relay.Message) Verdict {
	if m.Reply == "" {
		return Pass
	}
	p.asked[m.Reply] = m.Subject
	p.seen[operation(m.Subject)]++
	return p.decide(Requests, m.Subject, p.requests)
}

func (p *Proxy) answer(m relay.Message) Verdict {
	asked, ok := p.asked[m.Subject]
	switch {
	case ok:
		return p.decide(Answers, asked, p.answers)
	case m.Subject == "" || strings.Contains(m.Subject, ".event."):
		return Pass
	}
	return p.decide(Notices, m.Subject, nil)
}

// decide returns what becomes of a message on the way to or from the subject that was asked.
func (p *Proxy) decide(d Direction, subject string, otherwise func(string) Verdict) Verdict {
	for _, r := range p.rules {
		if r.applies(d, subject) {
			p.forge = r.Forge
			return r.Verdict
		}
	}
	if otherwise == nil {
		return Pass
	}
	return otherwise(subject)
}

// forged returns a message with another body.
func (p *Proxy) forged(m relay.Message) relay.Message {
	p.mu.Lock()
	forge := p.forge
	p.mu.Unlock()
	return m.WithBody(forge(m.Body()))
}

// notFound is what JetStream answers that does not know of a stream.
const notFound = `{"error":{"code":404,"err_code":10059,"description":"stream not found"}}`
