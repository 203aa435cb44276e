package jstest

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

	"github.com/nats-io/nats.go"
)

// Proxy stands between NATS clients and a server, reads their protocol, and lets tests lose, double,
// delay, change and invent messages. Everything else passes unchanged.
type Proxy struct {
	t        testing.TB
	listener net.Listener
	server   string

	mu       sync.Mutex
	closed   bool
	links    []*link
	requests func(m *nats.Msg) Action                  // what becomes of a publish; nil: pass
	answers  func(request, answer *nats.Msg) *nats.Msg // what the client gets in place of the answer; nil: nothing
	lines    func(line string) string                  // what the client gets in place of any other line
	seen     map[string]int                            // how often something was published on each subject
	asked    map[string]*nats.Msg                      // by reply subject: the request
	running  sync.WaitGroup
}

// Action is what becomes of a publish.
type Action struct {
	Copies int    // how many reach the server
	Answer string // given at once, if not empty
	Status string // given at once, if not empty: the status of an answer without contents
	Line   string // said to the client at once, if not empty
}

// What happens to most messages.
var (
	Pass = Action{Copies: 1}
	Drop = Action{}
)

// Refuse answers as JetStream does, in its place.
func Refuse(code, errCode int, description string) Action {
	return Action{Answer: fmt.Sprintf(`{"error":{"code":%d,"err_code":%d,"description":%q},"stream":%q,"seq":0}`,
		code, errCode, description, StreamName)}
}

// NewProxy starts a proxy before the server, which ends with the test.
func NewProxy(tb testing.TB, serverURL string) *Proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{
		t:        tb,
		listener: listener,
		server:   strings.TrimPrefix(serverURL, "nats://"),
		seen:     map[string]int{},
		asked:    map[string]*nats.Msg{},
	}
	p.running.Go(p.accept)
	tb.Cleanup(func() {
		p.close()
		p.running.Wait()
	})
	return p
}

// URL returns the URL for clients of the proxy.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

// OnRequests says what becomes of publishes from now on.
func (p *Proxy) OnRequests(f func(*nats.Msg) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = f
}

// OnAnswers says what becomes of answers and deliveries from now on. The request is nil if it is not
// known, as for a message that a pull has brought.
func (p *Proxy) OnAnswers(f func(request, answer *nats.Msg) *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = f
}

// OnLines says what becomes of the server's other lines, such as the first.
func (p *Proxy) OnLines(f func(string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = f
}

// Count returns how many publishes there were on subjects of this beginning.
func (p *Proxy) Count(subject string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for s, times := range p.seen {
		if strings.HasPrefix(s, subject) {
			n += times
		}
	}
	return n
}

// Cut breaks every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		_ = l.client.Close()
		_ = l.server.Close()
	}
	p.links = nil
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
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
		l := &link{Proxy: p, client: client, server: server, inboxes: map[string]string{}}
		p.mu.Lock()
		if p.closed {
			_ = client.Close()
			_ = server.Close()
		}
		p.links = append(p.links, l)
		p.mu.Unlock()
		p.running.Go(l.upward)
		p.running.Go(l.downward)
	}
}

// Repeat sends a publish once more, as a delayed copy.
func (p *Proxy) Repeat(m *nats.Msg) {
	p.mu.Lock()
	l := p.links[len(p.links)-1]
	p.mu.Unlock()
	l.toServer(m)
}

// link is one connection.
type link struct {
	*Proxy
	client, server net.Conn
	up, down       sync.Mutex // held while writing to the server, to the client
	inboxes        map[string]string
}

// upward carries what the client says to the server.
func (l *link) upward() {
	defer func() { _ = l.server.Close() }()
	in := bufio.NewReader(l.client)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fields := strings.Fields(line)
		switch fields[0] {
		case "PUB", "HPUB":
			m, err := readMessage(in, fields)
			if err != nil {
				return
			}
			l.request(m)
		case "SUB":
			l.mu.Lock()
			l.inboxes[strings.TrimSuffix(fields[1], "*")] = fields[len(fields)-1]
			l.mu.Unlock()
			fallthrough
		default:
			l.write(l.server, &l.up, []byte(line))
		}
	}
}

func (l *link) request(m *nats.Msg) {
	l.mu.Lock()
	l.seen[m.Subject]++
	if m.Reply != "" {
		l.asked[m.Reply] = m
	}
	judge := l.requests
	l.mu.Unlock()
	act := Pass
	if judge != nil {
		act = judge(m)
	}
	if act.Answer != "" || act.Status != "" {
		l.invent(m, act)
	}
	if act.Line != "" {
		l.write(l.client, &l.down, []byte(act.Line+"\r\n"))
	}
	for range act.Copies {
		l.toServer(m)
	}
}

// downward carries what the server says to the client.
func (l *link) downward() {
	defer func() { _ = l.client.Close() }()
	in := bufio.NewReader(l.server)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fields := strings.Fields(line)
		if fields[0] != "MSG" && fields[0] != "HMSG" {
			l.write(l.client, &l.down, []byte(l.otherLine(line)))
			continue
		}
		sid := fields[2]
		m, err := readMessage(in, append(fields[:2:2], fields[3:]...))
		if err != nil {
			return
		}
		if m = l.answer(m); m != nil {
			l.toClient(m, sid)
		}
	}
}

func (l *link) otherLine(line string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		return line
	}
	return l.lines(line)
}

func (l *link) answer(m *nats.Msg) *nats.Msg {
	l.mu.Lock()
	request, judge := l.asked[m.Subject], l.answers
	l.mu.Unlock()
	if judge == nil {
		return m
	}
	return judge(request, m)
}

// invent gives the client an answer in the server's place.
func (l *link) invent(request *nats.Msg, act Action) {
	answer := &nats.Msg{Subject: request.Reply, Data: []byte(act.Answer)}
	if act.Status != "" {
		answer.Header = nats.Header{"Status": {act.Status}}
	}
	inbox := request.Reply[:strings.LastIndexByte(request.Reply, '.')+1]
	l.mu.Lock()
	sid := l.inboxes[inbox]
	l.mu.Unlock()
	l.toClient(answer, sid)
}

func (l *link) toServer(m *nats.Msg) {
	l.write(l.server, &l.up, encodeMessage("PUB", m, ""))
}

func (l *link) toClient(m *nats.Msg, sid string) {
	l.write(l.client, &l.down, encodeMessage("MSG", m, sid))
}

// write may fail when a connection was cut; its reader finds out as well.
func (l *link) write(to net.Conn, turn *sync.Mutex, data []byte) {
	turn.Lock()
	defer turn.Unlock()
	_, _ = to.Write(data)
}

// readMessage reads what follows the line "PUB subject [reply] size" or
// "HPUB subject [reply] headers size".
func readMessage(in *bufio.Reader, fields []string) (*nats.Msg, error) {
	sizes := 1
	if strings.HasPrefix(fields[0], "H") {
		sizes = 2
	}
	m := &nats.Msg{Subject: fields[1]}
	if len(fields) == 3+sizes {
		m.Reply = fields[2]
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return nil, err
	}
	body := make([]byte, size+2)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil, err
	}
	body = body[:size]
	if sizes == 2 {
		headers, err := strconv.Atoi(fields[len(fields)-2])
		if err != nil {
			return nil, err
		}
		if m.Header, err = nats.DecodeHeadersMsg(body[:headers]); err != nil {
			return nil, err
		}
		body = body[headers:]
	}
	m.Data = body
	return m, nil
}

func encodeMessage(op string, m *nats.Msg, sid string) []byte {
	var headers bytes.Buffer
	if len(m.Header) > 0 {
		headers.WriteString("NATS/1.0")
		if status := m.Header.Get("Status"); status != "" {
			headers.WriteString(" " + status + " " + m.Header.Get("Description"))
		}
		headers.WriteString("\r\n")
		for name, values := range m.Header {
			for _, value := range values {
				if name != "Status" && name != "Description" {
					headers.WriteString(name + ": " + value + "\r\n")
				}
			}
		}
		headers.WriteString("\r\n")
		op = "H" + op
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s %s %s", op, m.Subject, sid, m.Reply)
	if headers.Len() > 0 {
		fmt.Fprintf(&out, " %d", headers.Len())
	}
	fmt.Fprintf(&out, " %d\r\n%s%s\r\n", headers.Len()+len(m.Data), headers.Bytes(), m.Data)
	return out.Bytes()
}
