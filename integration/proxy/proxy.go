// Package proxy stands between NATS clients and a server and lets tests lose, double, delay and replace messages, and
// break connections.
package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Proxy stands between clients and a server and reads their protocol, so that it loses and delays whole
// messages and nothing else is disturbed.
type Proxy struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// severed: connections break, and no new one gets through. hole: connections seem to get through, and
	// everything is lost. stall is there while nothing is taken, and closed when that is over.
	severed, hole bool
	stall         chan struct{}
	links         map[net.Conn]bool
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{
		listener: listener, server: strings.TrimPrefix(url, "nats://"),
		links: map[net.Conn]bool{}, asked: map[string]string{}, seen: map[string]int{},
	}
	p.running.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// URL is where clients find the proxy.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

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
func (p *Proxy) Cut() {
	p.change(func(p *Proxy) {
		for c := range p.links {
			_ = c.Close()
		}
	})
}

// Sever breaks every connection and refuses new ones until [Proxy.Resume].
func (p *Proxy) Sever() {
	p.change(func(p *Proxy) { p.severed = true })
	p.Cut()
}

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
	p.change(func(p *Proxy) {
		p.severed, p.hole = false, false
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

func (p *Proxy) close() {
	p.change(func(p *Proxy) { p.closed = true })
	p.Resume()
	_ = p.listener.Close()
	p.Cut()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.admit(client, server) {
			_ = client.Close()
			_ = server.Close()
			continue
		}
		p.running.Go(func() { p.carry(client, server, p.request) })
		p.running.Go(func() { p.carry(server, client, p.answer) })
	}
}

func (p *Proxy) admit(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.severed {
		return false
	}
	for _, c := range ends {
		p.links[c] = true
	}
	return true
}

// carry takes everything from one end to the other, as judged.
func (p *Proxy) carry(from, to net.Conn, judge func(frame) Verdict) {
	defer p.change(func(p *Proxy) { delete(p.links, from) })
	defer func() { _ = to.Close() }()
	in := bufio.NewReader(from)
	var turn sync.Mutex // what was kept is sent from elsewhere
	send := func(f frame) {
		turn.Lock()
		defer turn.Unlock()
		_, _ = to.Write(f.raw) // the other direction finds out as well
	}
	for {
		f, err := readFrame(in)
		if err != nil {
			return
		}
		switch p.judge(f, judge) {
		case Pass:
			send(p.rewritten(f))
		case Double:
			send(f)
			send(f)
		case Keep:
			p.change(func(p *Proxy) { p.kept = append(p.kept, func() { send(f) }) })
		case Miss:
			send(notFound(f))
		case Forge:
			send(p.forged(f))
		case Lose:
		}
	}
}

// rewritten returns a frame as clients get it.
func (p *Proxy) rewritten(f frame) frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.info != nil && bytes.HasPrefix(f.raw, []byte("INFO ")) {
		f.raw = []byte(p.info(string(f.raw)))
	}
	return f
}

func (p *Proxy) judge(f frame, judge func(frame) Verdict) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stall != nil {
		stall := p.stall
		p.mu.Unlock()
		<-stall
		p.mu.Lock()
	}
	v := judge(f)
	if p.hole {
		return Lose
	}
	return v
}

func (p *Proxy) request(f frame) Verdict {
	if f.reply == "" {
		return Pass
	}
	p.asked[f.reply] = f.subject
	p.seen[operation(f.subject)]++
	return p.decide(Requests, f.subject, p.requests)
}

func (p *Proxy) answer(f frame) Verdict {
	asked, ok := p.asked[f.subject]
	switch {
	case ok:
		return p.decide(Answers, asked, p.answers)
	case f.subject == "" || strings.Contains(f.subject, ".event."):
		return Pass
	}
	return p.decide(Notices, f.subject, nil)
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

// forged returns a message with another body. Headers are left as they are.
func (p *Proxy) forged(f frame) frame {
	p.mu.Lock()
	forge := p.forge
	p.mu.Unlock()
	line, rest, _ := bytes.Cut(f.raw, []byte("\r\n"))
	fields := strings.Fields(string(line))
	headers := 0
	if strings.HasPrefix(fields[0], "H") {
		headers, _ = strconv.Atoi(fields[len(fields)-2])
	}
	body := forge(bytes.TrimSuffix(rest[headers:], []byte("\r\n")))
	fields[len(fields)-1] = strconv.Itoa(headers + len(body))
	f.raw = fmt.Appendf(nil, "%s\r\n%s%s\r\n", strings.Join(fields, " "), rest[:headers], body)
	return f
}

// notFound is what JetStream answers that does not know of a stream.
func notFound(f frame) frame {
	const body = `{"error":{"code":404,"err_code":10059,"description":"stream not found"}}`
	fields := strings.Fields(string(f.raw[:bytes.IndexByte(f.raw, '\n')]))
	f.raw = fmt.Appendf(nil, "MSG %s %s %d\r\n%s\r\n", fields[1], fields[2], len(body), body)
	return f
}

// frame is a line of the protocol and what belongs to it. Only messages have a subject.
type frame struct {
	raw            []byte
	subject, reply string
}

func readFrame(in *bufio.Reader) (frame, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return frame{}, err
	}
	f := frame{raw: []byte(line)}
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return f, nil
	}
	sizes := 1 + strings.Count(fields[0], "H") // of headers, and of all
	switch fields[0] {
	case "PUB", "HPUB":
	case "MSG", "HMSG":
		fields = append(fields[:2], fields[3:]...) // without the number of the subscription
	default:
		return f, nil
	}
	f.subject = fields[1]
	if len(fields) == 3+sizes {
		f.reply = fields[2]
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return f, err
	}
	body := make([]byte, size+len("\r\n"))
	if _, err := io.ReadFull(in, body); err != nil {
		return f, err
	}
	f.raw = append(f.raw, body...)
	return f, nil
}
