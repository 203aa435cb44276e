package tenants

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// attacks is how many messages with large headers a test sends: more bytes than NATS lets wait for a connection, so a
// node that falls behind is cut off.
const attacks = 200

// largeHeaders are as many headers with different names as fit into a message of NATS.
func largeHeaders() string {
	var b strings.Builder
	b.WriteString("NATS/1.0\r\n")
	for i := range 140_000 {
		fmt.Fprintf(&b, "%05x:\n", i)
	}
	b.WriteString("\r\n")
	return b.String()
}

// attack sends messages with these headers from a connection of its own, each when the server has taken the one before.
func attack(url, user, password, subject, headers string, times int) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	text := fmt.Sprintf("CONNECT {\"headers\":true,\"verbose\":false,\"user\":%q,\"pass\":%q}\r\n", user, password)
	in := bufio.NewScanner(conn)
	for range times {
		text += fmt.Sprintf("HPUB %s _INBOX.none %d %d\r\n%s\r\nPING\r\n", subject, len(headers), len(headers), headers)
		if _, err := conn.Write([]byte(text)); err != nil {
			return err
		}
		text = ""
		for in.Scan() && in.Text() != "PONG" {
			if strings.HasPrefix(in.Text(), "-ERR") {
				return errors.New(in.Text())
			}
		}
	}
	return in.Err()
}

// Messages with large headers do not keep a node from serving others: not those of a tenant, of a user of no tenant, or
// of one who asks for statistics.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	log := &stand.Lines{}
	s := start(t, node.TenantLimits{Rate: 10}, func(
		c *server.Config) {
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	victim, operator := s.as(second), s.operator("")
	headers := largeHeaders()
	for _, from := range [][3]string{
		{"of-" + first, "p", "holdfast.acquire.a"}, {"node", "n", "holdfast.acquire.a"},
		{"node", "n", "holdfast.shard.0.batch"},
		{"node", "n", "holdfast.info"}, {"node", "n", "$SRV.PING"},
	} {
		sent := make(chan error)
		go func() { sent <- attack(s.ClientURL(), from[0], from[1], from[2], headers, attacks/5) }()
		for done := false; !done; {
			victim.acquire("mine", "o")
			victim.want(messages.Status_RELEASED, messages.OpRelease, "mine", `{"owner":"o"}`)
			select {
			case err := <-sent:
				if done = true; err != nil {
					t.Error(err)
				}
			default:
			}
		}
	}
	many := nats.Header{}
	for i := range 40 {
		many[fmt.Sprint("name", i)] = []string{"v"}
	}
	m, err := operator.RequestMsg(&nats.Msg{Subject: "holdfast.acquire.a", Header: many,
		Data: []byte(`{"owner":"o","ttl_ms":60000}`)}, patience)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(m.Data); !strings.Contains(text, "INVALID") || !strings.Contains(text, "headers: at most") {
		t.Errorf("got %s, want INVALID", text)
	}
	if text := log.String(); strings.Contains(text, "disconnected") || strings.Contains(text, "low consumer") ||
		strings.Contains(text, "low Consumer") {
		t.Errorf("a connection of the node was cut off:\n%s", text)
	}
}
