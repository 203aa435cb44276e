package identity

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/messages"
)

// forgeries are headers that show another identity than that of NATS to a reader who ends lines, names or headers
// elsewhere than NATS does. F is the forged value, H the name of the header.
var forgeries = map[string]string{
	"plain":                      "NATS/1.0\r\nH: F\r\n\r\n",
	"twice":                      "NATS/1.0\r\nH: F\r\nH: F\r\n\r\n",
	"LF before, then the end":    "NATS/1.0\nH: F\r\n\r\n\r\n",
	"LF before, LF at the end":   "NATS/1.0\nH: F\n\n\r\n",
	"LF before, real in a value": "NATS/1.0\nH: F\r\nx:  a\n\n",
	"LF before, real in it":      "NATS/1.0\nH: F\r\nx:  aXX",
	"LF before, real in a name":  "NATS/1.0\nH: F\r\nxXX",
	"LF before, real in no name": "NATS/1.0\nH: F\r\n:XX",
	"LF before, real in its own": "NATS/1.0\nH: F\r\nH:XX",
	"LF before, two ends":        "NATS/1.0\r\nx: y\nH: F\r\n\r\n\r\n\r\n",
	"CR before":                  "NATS/1.0\rH: F\r\n\r\n\r\n",
	"CR CR LF before":            "NATS/1.0\r\r\nH: F\r\n\r\n\r\n",
	"LF CR before":               "NATS/1.0\n\rH: F\r\n\r\n\r\n",
	"no CR behind":               "NATS/1.0\r\nH: F\n\n\r\n",
	"no end of the line":         "NATS/1.0\r\nH: FXX",
	"a string that is open":      "NATS/1.0\r\nH: G\"XX",
	"tab before the colon":       "NATS/1.0\nH\t: F\r\n\r\n\r\n",
	"space before the colon":     "NATS/1.0\nH : F\r\n\r\n\r\n",
	"tab behind the colon":       "NATS/1.0\nH:\tF\r\n\r\n\r\n",
	"nothing behind the colon":   "NATS/1.0\nH:F\r\n\r\n\r\n",
	"two colons":                 "NATS/1.0\nH:: F\r\n\r\n\r\n",
	"folded line":                "NATS/1.0\nH:\r\n F\r\n\r\n\r\n",
	"folded, LF":                 "NATS/1.0\nH:\n\tF\r\n\r\n\r\n",
	"NUL before":                 "NATS/1.0\r\n\x00H: F\r\n\r\n\r\n",
	"NUL in the line before":     "NATS/1.0\r\nx: \x00\nH: F\r\n\r\n\r\n",
	"a status":                   "NATS/1.0 200 OK\nH: F\r\n\r\n\r\n",
	"several first lines":        "NATS/1.0\r\nNATS/1.0\nH: F\r\n\r\n\r\n",
	"lower case":                 "NATS/1.0\r\nnats-request-info: F\r\n\r\n",
	"its name in a value":        "NATS/1.0\nx: H: F\nH: F\r\n\r\n\r\n",
	"many short lines":           "NATS/1.0\n" + strings.Repeat("a:\n", 2000) + "H:F\n\n\r\n",
	"eight lines":                "NATS/1.0\n" + strings.Repeat("a:\n", 7) + "H:F\n\n\r\n",
	"names that are empty":       "NATS/1.0\n:\n:\nH:F\n\n\r\n",
	"nothing before the header":  "H: F\r\n\r\n",
}

// Whatever a client writes into its headers, it is who NATS says that it is, or is refused.
func TestForgedHeaders(t *testing.T) {
	t.Parallel()
	node, login := key(t)
	public, _ := key(t)
	o, stranger := newOperator(t), userJWT(t)
	operated, alice, bob := o.user(), o.user(), o.user()
	seed := fmt.Sprintf(`"jwt":%q`, alice.token)
	for name, test := range map[string]struct {
		mode                identity.Mode
		config              string
		login               nats.Option
		connect, prefix, id string
		claim               string
	}{
		"User": {identity.User, single(node, public), login, `"user":"alice","pass":"a"`, "locks", "alice",
			`"acc":"APP","user":"bob"`},
		"Across": {identity.User, across(node, ", share: true"), login, `"user":"alice","pass":"a"`, "holdfast",
			"alice", `"acc":"PEOPLE","user":"bob"`},
		"Account": {identity.Account, across(node, ""), login, `"user":"alice","pass":"a"`, "holdfast", "ORDERS",
			`"acc":"PEOPLE","user":"bob"`},
		"Name": {identity.User, o.config(), operated.login(), seed, "locks", alice.public,
			`"acc":"APP","user":"bob"`},
		"JWT": {
			identity.User, o.config(), operated.login(), seed, "locks", alice.public,
			fmt.Sprintf(`"acc":"APP","user":"bob","jwt":%q,"issuer_key":%q`, bob.token, o.public(o.account)),
		},
		"OtherJWT": {identity.User, single(node, public), login, `"user":"alice","pass":"a"`, "locks", "alice",
			fmt.Sprintf(`"user":"bob","jwt":%q,"issuer_key":"APP"`, stranger.token)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, test.mode, test.config, test.login)
			c := s.open(test.connect, alice)
			forms := strings.NewReplacer("H", header, "F", "{"+test.claim+"}", "G", "{"+test.claim+`,"x":`)
			n := 0
			for form, text := range forgeries {
				n++
				subject := fmt.Sprintf("%s.acquire.r%d", test.prefix, n)
				// Without an owner it is that of the identity.
				r := c.ask(subject, forms.Replace(text), `{"ttl_ms":60000}`)
				granted := r.GetStatus() == messages.Status_GRANTED && r.GetLease().GetIdentity() == test.id &&
					r.GetLease().GetOwner() == test.id
				if !granted && r.GetStatus() != messages.Status_INVALID {
					t.Errorf("%s: %q is answered %v, want a lease of %q or INVALID", form, text, r, test.id)
				}
			}
			// Ordinary headers are none of these.
			for _, text := range []string{"NATS/1.0\r\n\r\n",
				"NATS/1.0\r\ntraceparent:00-a\r\nContent-Type: application/json\r\n\r\n"} {
				if r := c.ask(test.prefix+".acquire.plain", text, `{"ttl_ms":60000,"reentrant":true}`); r.GetLease().GetIdentity() != test.id {
					t.Errorf("%q is answered %v, want a lease of %q", text, r, test.id)
				}
			}
		})
	}
}

// rawClient speaks the protocol of NATS itself.
type rawClient struct {
	*service
	net.Conn
	in *bufio.Reader
}

// open logs a client in with these options; a JWT among them is that of m.
func (s *service) open(options string, m member) *rawClient {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "nats://"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	c := &rawClient{s, conn, bufio.NewReader(conn)}
	info := c.line("INFO ")
	if strings.HasPrefix(options, `"jwt"`) {
		_, nonce, _ := strings.Cut(info, `"nonce":"`)
		nonce, _, _ = strings.Cut(nonce, `"`)
		options += fmt.Sprintf(`,"sig":%q`, m.sign(s, nonce))
	}
	c.put(fmt.Sprintf(
		"CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,%s}\r\nSUB _INBOX.raw 1\r\n",
		options))
	return c
}

func (c *rawClient) put(text string) {
	c.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		c.Fatal(err)
	}
}

// line returns what follows the next line that begins so.
func (c *rawClient) line(begin string) string {
	c.Helper()
	for {
		line, err := c.in.ReadString('\n')
		switch rest, ok := strings.CutPrefix(line, begin); {
		case err != nil, strings.HasPrefix(line, "-ERR"):
			c.Fatalf("%q, %v", line, err)
		case ok:
			return rest
		}
	}
}

// ask sends a request with these headers, byte by byte, and returns the answer in JSON.
func (c *rawClient) ask(subject, headers, body string) *messages.Reply {
	c.Helper()
	c.put(fmt.Sprintf("HPUB %s _INBOX.raw %d %d\r\n%s%s\r\n", subject, len(headers), len(headers)+len(body), headers,
		body))
	r := &messages.Reply{}
	if err := messages.DecodeReply(messages.JSON, []byte("{"+c.line("{")), r); err != nil {
		c.Fatal(err)
	}
	return r
}
