package client_test

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

// proxy stands between clients and a server and reads their protocol, so that it loses and delays whole
// messages and nothing else is disturbed.
type proxy struct {
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
	requests, answers func(subject string) verdict
	asked             map[string]string // subject by reply subject
	kept              []func()          // how to send what was kept
	seen              map[string]int    // how often an operation was asked for
}

// verdict is what becomes of a message.
type verdict uint8

const (
	pass verdict = iota
	lose
	keep // for later
	miss // answered with JetStream's "stream not found" in its place
)

func newProxy(tb testing.TB, url string) *proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{
		listener: listener, server: strings.TrimPrefix(url, "nats://"),
		links: map[net.Conn]bool{}, asked: map[string]string{}, seen: map[string]int{},
	}
	p.running.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// change changes how the proxy treats what comes from now on.
func (p *proxy) change(f func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// onRequests and onAnswers judge messages of one operation.
func (p *proxy) onRequests(op string, judge func() verdict) {
	p.change(func(p *proxy) { p.requests = about(op, judge) })
}

func (p *proxy) onAnswers(op string, judge func() verdict) {
	p.change(func(p *proxy) { p.answers = about(op, judge) })
}

func about(op string, judge func() verdict) func(string) verdict {
	return func(subject string) verdict {
		if operation(subject) != op {
			return pass
		}
		return judge()
	}
}

// operation returns what is asked for on a subject of either door.
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

// first applies a verdict to so many messages, and lets the others pass.
func first(n int, v verdict) func() verdict {
	return func() verdict {
		if n--; n >= 0 {
			return v
		}
		return pass
	}
}

func always(v verdict) func() verdict { return func() verdict { return v } }

// cut breaks every connection, once.
func (p *proxy) cut() {
	p.change(func(p *proxy) {
		for c := range p.links {
			c.Close()
		}
	})
}

// sever breaks every connection and refuses new ones until resume.
func (p *proxy) sever() {
	p.change(func(p *proxy) { p.severed = true })
	p.cut()
}

// blackhole loses everything in both directions until resume, without an error.
func (p *proxy) blackhole() { p.change(func(p *proxy) { p.hole = true }) }

// clog takes nothing from anybody until resume, so that the buffers of the sockets fill.
func (p *proxy) clog() { p.change(func(p *proxy) { p.stall = make(chan struct{}) }) }

func (p *proxy) resume() {
	p.change(func(p *proxy) {
		p.severed, p.hole, p.requests, p.answers = false, false, nil, nil
		if p.stall != nil {
			close(p.stall)
			p.stall = nil
		}
	})
}

// deliver sends what was kept.
func (p *proxy) deliver() {
	p.mu.Lock()
	kept := p.kept
	p.kept = nil
	p.mu.Unlock()
	for _, send := range kept {
		send()
	}
}

// answered returns a channel that tells of the answers to an operation from now on; they pass.
func (p *proxy) answered(op string) <-chan struct{} {
	came := make(chan struct{}, 1)
	p.onAnswers(op, func() verdict {
		select {
		case came <- struct{}{}:
		default:
		}
		return pass
	})
	return came
}

// count returns how often an operation was asked for.
func (p *proxy) count(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[op]
}

func (p *proxy) close() {
	p.change(func(p *proxy) { p.closed = true })
	p.resume()
	p.listener.Close()
	p.cut()
	p.running.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		if !p.admit(client, server) {
			client.Close()
			server.Close()
			continue
		}
		p.running.Go(func() { p.carry(client, server, p.request) })
		p.running.Go(func() { p.carry(server, client, p.answer) })
	}
}

func (p *proxy) admit(ends ...net.Conn) bool {
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
func (p *proxy) carry(from, to net.Conn, judge func(frame) verdict) {
	defer p.change(func(p *proxy) { delete(p.links, from) })
	defer to.Close()
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
		case pass:
			send(f)
		case keep:
			p.change(func(p *proxy) { p.kept = append(p.kept, func() { send(f) }) })
		case miss:
			send(notFound(f))
		case lose:
		}
	}
}

func (p *proxy) judge(f frame, judge func(frame) verdict) verdict {
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
		return lose
	}
	return v
}

func (p *proxy) request(f frame) verdict {
	if f.reply == "" {
		return pass
	}
	p.asked[f.reply] = f.subject
	p.seen[operation(f.subject)]++
	if p.requests == nil {
		return pass
	}
	return p.requests(f.subject)
}

func (p *proxy) answer(f frame) verdict {
	asked, ok := p.asked[f.subject]
	if !ok || p.answers == nil {
		return pass
	}
	return p.answers(asked)
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
