package hostile

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// inbox is where attackers may receive answers.
	inbox = "_INBOX.hostile."
	// timeout bounds each write, and how long a connection is read after its last move.
	timeout = 5 * time.Second
	// mostMoves is how many moves a connection makes.
	mostMoves = 120
)

// logins are the users of an attack; empty: none.
var logins = []string{"", "none", "some", "some", "some", "some", "batches", "nobody"}

// attack is the work of some attackers against one server.
type attack struct {
	address string
	seed    uint64
	*tally
}

// attacker is one connection.
type attacker struct {
	dice
	*attack
	net.Conn
	user string
	// subscriptions counts those that were tried.
	subscriptions int
	// whole: the last line was complete.
	whole bool
}

// live makes one connection, from its first byte to its end. An error is one of the network before the login.
func (a *attack) live(number uint64) error {
	conn, err := net.DialTimeout("tcp", a.address, timeout)
	if err != nil {
		return err
	}
	a.connections.Add(1)
	c := &attacker{dice: newDice(a.seed, number), attack: a, Conn: conn, whole: true}
	c.user = logins[c.IntN(len(logins))]
	var reading sync.WaitGroup
	slow := c.chance(10) // it reads nothing
	if !slow {
		reading.Go(c.read)
	}
	c.count("login " + cmp.Or(c.user, "without a user"))
	alive := c.login()
	for range 1 + c.IntN(mostMoves) {
		if !alive || !c.whole {
			break
		}
		alive = c.step()
	}
	c.end(alive && !slow)
	reading.Wait()
	return nil
}

// end leaves in one of the ways in which clients end: at once with a reset, or, if it is read, when the answers have
// come.
func (c *attacker) end(read bool) {
	tcp, _ := c.Conn.(*net.TCPConn)
	switch {
	case c.chance(30):
		_ = tcp.SetLinger(0)
	case read && c.chance(60):
		_ = c.SetReadDeadline(time.Now().Add(timeout))
		if c.whole && c.put("PING\r\n") {
			_ = tcp.CloseWrite()
			return // read closes it
		}
	}
	_ = c.Close()
}

var (
	refusal = regexp.MustCompile(`^-ERR '([A-Za-z ]+)`)
	status  = regexp.MustCompile(`"status":\s*"([A-Z_]+)"`)
)

// read notes what the server says, and closes the connection at its end.
func (c *attacker) read() {
	defer func() { _ = c.Close() }() // the server may have closed it
	in := bufio.NewReaderSize(c.Conn, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		c.received.Add(int64(len(line)))
		if err != nil && err != bufio.ErrBufferFull { //nolint:errorlint // bufio returns it as it is
			return
		}
		switch {
		case bytes.HasPrefix(line, []byte("-ERR")):
			if m := refusal.FindSubmatch(line); m != nil {
				c.count("-ERR " + strings.TrimSpace(string(m[1])))
			}
		case bytes.HasPrefix(line, []byte("{")):
			if m := status.FindSubmatch(line); m != nil {
				c.count(string(m[1]))
			}
		case bytes.HasPrefix(line, []byte("PING")):
			if !c.put("PONG\r\n") {
				return
			}
		}
	}
}

// put writes and reports whether it could.
func (c *attacker) put(text string) bool {
	_ = c.SetWriteDeadline(time.Now().Add(timeout))
	_, err := io.WriteString(c.Conn, text)
	return err == nil
}

// login sends the first line: a proper login mostly.
func (c *attacker) login() bool {
	if c.chance(5) {
		return true // none, and the next move comes before it
	}
	options :=
		`{"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1,"lang":"x","version":"1","name":"` + one(c.dice, "hostile", logged(c.dice)) + `"`
	if c.user != "" {
		options += fmt.Sprintf(`,"user":%q,"pass":%q`, c.user, c.user)
	}
	switch c.IntN(20) {
	case 0:
		options += `,"user":"load","nkey":"UAAA","jwt":"a.b.c","sig":"x"`
	case 1:
		options = string(c.mutated([]byte(options)))
	case 2:
		options += `,"user":"` + logged(c.dice) + `"`
	case 3:
		options += `,"echo":"no","verbose":true`
	}
	line := "CONNECT " + options + "}\r\n"
	if c.chance(80) {
		line += "SUB " + inbox + "> 0\r\n"
	}
	c.move("connect", len(line))
	return c.put(line)
}

// step makes one move, and reports whether the connection is still there.
func (c *attacker) step() bool {
	m := moves[c.pick()]
	text := m.make(c)
	c.move(m.kind, len(text))
	return c.put(text)
}

// pick returns the index of a move by its weight.
func (c *attacker) pick() int {
	n := c.IntN(weights)
	for i, m := range moves {
		if n -= m.weight; n < 0 {
			return i
		}
	}
	return 0
}
