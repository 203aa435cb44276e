package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// hangUp has a node read its files again, and returns when the log says this once more and NATS has been reloaded, or
// not. Meanwhile NATS refuses a client that has connected and has not yet logged in.
func (p *process) hangUp(t *testing.T, says string) {
	t.Helper()
	count := func(text string) int { return strings.Count(p.log.String(), text) }
	said, reloads := count(says), count(" what=NATS")
	p.signal(t, syscall.SIGHUP)
	stand.Eventually(t, "the log says "+says, func() bool {
		return count(says) > said && count(" what=NATS") > reloads
	})
}

// served returns the serial number of the certificate that a server shows to the connect function.
func served(t *testing.T, c *certificates, connect func(*tls.Config) error) *big.Int {
	t.Helper()
	text := stand.Value(os.ReadFile(c.file("ca.pem")))(t)
	var serial *big.Int
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	stand.Must(t, connect(&tls.Config{RootCAs: pool, VerifyConnection: func(state tls.ConnectionState) error {
		serial = state.PeerCertificates[0].SerialNumber
		return nil
	}}))
	return serial
}

// Certificates are rotated and users come and go while a client renews its lease of a second: it never loses it, the
// node stays connected, and a file that cannot be used changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	c.ca.Issue("https")
	user := func(name string) string { return fmt.Sprintf("{ user: %s, password: %q }\n", name, secretHash) }
	users := func(names ...string) string {
		var b strings.Builder
		for _, name := range names {
			b.WriteString(user(name))
		}
		return "authorization { users: [\n" + b.String() + "] }"
	}
	auth := authFile(t, users("node", "holder", "guest"))
	p := serve(t, append(c.flags("ca", "server"), "--auth", auth, "--user", "node", "--password", "secret",
		"--http-tls", c.file("https.pem")+","+c.file("https-key.pem"))...)
	dial := func(user string, opts ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(p.url, append([]nats.Option{nats.UserInfo(user, "secret"), nats.RootCAs(c.file("ca.pem"))},
			opts...)...)
	}
	mustDial := func(user string, opts ...nats.Option) *nats.Conn {
		t.Helper()
		nc := stand.Value(dial(user, opts...))(t)
		t.Cleanup(nc.Close)
		return nc
	}
	held, err := stand.Client(t, mustDial("holder")).Acquire(t.Context(), "held", holdfast.TTL(9*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	natsSerial := func() *big.Int {
		return served(t, c, func(settings *tls.Config) error {
			nc, err := dial("holder", nats.Secure(settings))
			if err == nil {
				nc.Close()
			}
			return err
		})
	}
	address := strings.TrimPrefix(strings.TrimSuffix(strings.Fields(p.out.WaitFor(t, p.done, "/metrics"))[1],
		"/metrics;"), "https://")
	httpSerial := func() *big.Int {
		return served(t, c, func(settings *tls.Config) error {
			conn, err := tls.Dial("tcp", address, settings)
			if err == nil {
				_ = conn.Close()
			}
			return err
		})
	}
	natsBefore, httpBefore := natsSerial(), httpSerial()

	// A broken file, an expired certificate, and logins that lock the node out or lead it to another account.
	for _, broken := range []struct{ file, text, says string }{
		{auth, "authorization {", `auth.conf: `},
		{auth, users("holder"), `auth.conf does not admit the login of this node`},
		{auth, "listen: 1", `auth.conf has listen; a file with logins has none`},
		{auth, "accounts { APP: { jetstream: enabled, users: [" + user("node") + "] } }",
			`the user of this node is in the account APP now`},
		{c.file("server.pem"), "-----BEGIN", `the certificate ` + c.file("server.pem")},
		{c.file("https.pem"), "-----BEGIN", `error="HTTP: the certificate`},
	} {
		before := stand.Value(os.ReadFile(broken.file))(t)
		write(t, broken.file, broken.text)
		p.hangUp(t, broken.says)
		write(t, broken.file, string(before))
	}
	if natsSerial().Cmp(natsBefore) != 0 || httpSerial().Cmp(httpBefore) != 0 {
		t.Error("a file that cannot be used has changed the certificate")
	}
	if _, err := dial("late"); err == nil {
		t.Fatal("a user that no file has was let in")
	}

	// The guest holds a lease when it is removed, and another user comes.
	gone := make(chan struct{})
	guest := mustDial("guest", nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(gone) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if m, err := guest.Request("holdfast.acquire.left", []byte(`{"owner":"guest","ttl_ms":600000}`), bound); err != nil || !strings.Contains(string(m.Data), "GRANTED") {
		t.Fatal(m, err)
	}
	c.ca.Issue("server")
	c.ca.Issue("https")
	write(t, auth, users("node", "holder", "late"))
	p.hangUp(t, `msg=reloaded what=NATS`)
	select {
	case <-gone:
	case <-time.After(bound):
		t.Error("the connection of a removed user stays open")
	}
	late := stand.Client(t, mustDial("late"))
	if state, err := late.Get(t.Context(), "left"); err != nil || state.Owner != "guest" {
		t.Errorf("the lease of a removed user: %+v, %v", state, err)
	}
	if natsSerial().Cmp(natsBefore) == 0 || httpSerial().Cmp(httpBefore) == 0 {
		t.Error("the certificate is the one before")
	}

	// The holder has what it had, after renewals beyond its first lease.
	stand.Eventually(t, "the lease is renewed", func() bool {
		return held.Deadline().After(began.Add(18 * time.Second))
	})
	select {
	case <-held.Lost():
		t.Error("the lease was lost")
	default:
	}
	if state, err := late.Get(t.Context(), "held"); err != nil || state.Token != held.Token() {
		t.Errorf("%+v, %v", state, err)
	}
	if strings.Contains(p.log.String(), "disconnected from NATS") {
		t.Error("the node has lost its own connections")
	}
}

// A NATS configuration is read again too, except for what NATS cannot change while it runs.
func TestReloadOfNATSConfiguration(t *testing.T) {
	t.Parallel()
	logins := func(users string) string {
		return `authorization { users: [ { user: node, password: "` + secretHash + `" }` + users + ` ] }`
	}
	file := stand.NATSConfig(t, logins(""))
	text := stand.Value(os.ReadFile(file))(t)
	p := serveWith(t, nil, "--nats-config", file, "--user", "node", "--password", "secret")
	runWith(t, p.alice("secret"), "get", "a").want(t, 5, `does not permit this user`)
	write(t, file, strings.Replace(string(text), "node", "node2", 1))
	p.hangUp(t, "does not admit the login of this node")
	write(t, file, string(text)+"\nserver_name: another")
	p.hangUp(t, "NATS cannot change ServerName while it runs; set it back, or restart this node")
	write(t, file, strings.Replace(string(text), logins(""), logins(`, { user: alice, password: "`+secretHash+`" }`),
		1))
	p.hangUp(t, "msg=reloaded what=NATS")
	runWith(t, p.alice("secret"), "acquire", "a").want(t, 0, `token 1`)
}
