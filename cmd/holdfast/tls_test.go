package main_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// certificates are the files of a test, each with its key beside it.
type certificates struct {
	dir     string
	ca      *stand.Authority
	strange *stand.Authority
}

// newCertificates makes the authorities ca and strange-ca, and server and client of the first.
func newCertificates(t *testing.T) *certificates {
	t.Helper()
	dir := t.TempDir()
	c := &certificates{dir: dir, ca: stand.NewAuthority(t, dir, "ca"),
		strange: stand.NewAuthority(t, dir, "strange-ca")}
	c.ca.Issue("server")
	c.ca.Issue("client", clientOnly)
	return c
}

func (c *certificates) file(name string) string { return filepath.Join(c.dir, name) }

// flags returns the flags of TLS with this certificate, none of it if it is empty.
func (c *certificates) flags(authority, certificate string) []string {
	flags := []string{"--tls-ca", c.file(authority + ".pem")}
	if certificate != "" {
		flags = append(flags, "--tls-cert", c.file(certificate+".pem"), "--tls-key", c.file(certificate+"-key.pem"))
	}
	return flags
}

// clientOnly makes a certificate that is for no server and names no host.
func clientOnly(c *x509.Certificate) {
	c.ExtKeyUsage, c.IPAddresses = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, nil
}

func expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
}

func notYetValid(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour / 2) }

// A certificate is required by flags alone, and each client without a right one gets the reason, and the log of the node as
// well.
func TestTLSByFlags(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	c.ca.Issue("expired", clientOnly, expired)
	c.strange.Issue("strange")
	p := serve(t, append(c.flags("ca", "server"), "--tls-verify")...)
	if !strings.HasPrefix(p.url, "tls://") {
		t.Errorf("ready at %s", p.url)
	}
	p.holdfast(t, append([]string{"acquire", "orders.42", "--owner", "me"}, c.flags("ca", "client")...)...).want(t, 0,
		`token 1`)
	t.Run("Refused", func(t *testing.T) {
		for name, test := range map[string]struct {
			flags []string
			says  string
		}{
			"NoCertificate": {c.flags("ca", ""),
				`cannot connect to NATS at tls://\S+: .*tls: certificate required`},
			"ExpiredCertificate": {c.flags("ca", "expired"),
				`cannot connect to NATS at tls://\S+: .*tls: expired certificate`},
			"StrangeCertificate": {c.flags("ca", "strange"),
				`cannot connect to NATS at tls://\S+: .*tls: certificate required`},
			"StrangeAuthority": {c.flags("strange-ca", "client"),
				`cannot connect to NATS at tls://\S+: .*certificate signed by unknown authority`},
			"NoAuthority": {nil,
				`cannot connect to NATS at tls://\S+: .*certificate signed by unknown authority`},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.holdfast(t, append([]string{"get", "orders.42"}, test.flags...)...).want(t, 5, test.says)
			})
		}
		t.Run("PlainServer", func(t *testing.T) {
			t.Parallel()
			plain := serve(t)
			run(t, "get", "a", "--server", strings.Replace(plain.url, "nats://", "tls://", 1)).want(t, 5,
				`cannot connect to NATS at tls://\S+: .*secure connection not available`)
		})
		t.Run("PlainText", func(t *testing.T) {
			t.Parallel()
			nc := stand.Value(net.Dial("tcp", strings.TrimPrefix(p.url, "tls://")))(t)
			defer func() { _ = nc.Close() }()
			stand.Value(nc.Write([]byte("CONNECT {}\r\nPING\r\n")))(t)
			if said, _ := io.ReadAll(nc); strings.Contains(string(said), "PONG") ||
				!strings.Contains(string(said), `"tls_required":true`) {
				t.Errorf("the server said %q", said)
			}
		})
	})
	p.log.WaitFor(t, p.done, "TLS handshake error: tls: client didn't provide a certificate")
}

// What cannot work is refused before the node starts, and the sentence names the file.
func TestTLSRefusals(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	c.ca.Issue("expired", expired)
	c.ca.Issue("early", notYetValid)
	c.ca.Issue("nameless", func(x *x509.Certificate) { x.IPAddresses = nil })
	c.ca.Issue("client-only", func(x *x509.Certificate) {
		x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
	c.ca.Issue("server-only", func(x *x509.Certificate) {
		x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	c.ca.Issue("elsewhere", func(x *x509.Certificate) { x.IPAddresses, x.DNSNames = nil, []string{"n9.example.com"} })
	cluster := []string{"--name", "n1", "--cluster-listen", "127.0.0.1:0", "--routes", "127.0.0.1:6222"}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{c.flags("ca", "expired"), 1,
			`a certificate is not valid at this time: \S+expired\.pem expired on .*; renew it`},
		{c.flags("ca", "early"), 1,
			`a certificate is not valid at this time: \S+early\.pem is valid from .*; check the clock`},
		{c.flags("ca", "nameless"), 2, `the certificate \S+nameless\.pem names no host, .*subject alternative name`},
		{c.flags("ca", "client-only"), 2, `the certificate \S+client-only\.pem is not for serverAuth`},
		{[]string{"--tls-cert", c.file("server.pem"), "--tls-key", c.file("client-key.pem")}, 2,
			`the certificate \S+server\.pem with the key \S+client-key\.pem: .*private key does not match public key`},
		{[]string{"--tls-ca", c.file("ca-key.pem"), "--tls-cert", c.file("server.pem"), "--tls-key",
			c.file("server-key.pem")}, 2, `the authorities \S+ca-key\.pem: no certificate in PEM`},
		{[]string{"--tls-cert", c.file("server.pem")}, 2, `--tls-cert needs --tls-key`},
		{[]string{"--tls-verify", "--tls-cert", c.file("server.pem"), "--tls-key", c.file("server-key.pem")}, 2,
			`--tls-verify needs --tls-ca: `},
		{[]string{"--server", "nats://127.0.0.1:1", "--tls-verify"}, 2, `--server and --tls-verify exclude each other`},
		{[]string{"--cluster-tls", c.file("server.pem")}, 2, `--cluster-tls needs --cluster-listen`},
		{append([]string{"--cluster-tls", c.file("server.pem")}, cluster...), 2,
			`--cluster-tls: 3 files, separated by commas: certificate, key, authority; got 1`},
		{append([]string{"--cluster-tls", c.file("server.pem") + "," + c.file("server-key.pem") + ",missing"},
			cluster...), 2,
			`--cluster-tls: cannot read "missing": no such file`},
		{[]string{"--http-tls", c.file("server.pem")}, 2,
			`--http-tls: 2 files, separated by commas: certificate, key; got 1`},
		{append([]string{"--tls-cert", c.file("server.pem"), "--tls-key", c.file("server-key.pem")}, cluster...), 2,
			`members of a cluster verify one another by an authority; give --tls-ca`},
		{append(c.flags("ca", "server-only"), cluster...), 2,
			`the certificate \S+server-only\.pem is not for clientAuth`},
		{append(c.flags("ca", "elsewhere"), cluster...), 2,
			`the certificate \S+elsewhere\.pem names no host of --routes`},
		{append(c.flags("ca", "server"), "--listen", "0.0.0.0:0"), 1,
			`open to other hosts without authentication: no login is required; `},
	} {
		if test.args[0] != "--server" {
			test.args = append(test.args, "--data", t.TempDir())
		}
		run(t, append([]string{"serve"}, test.args...)...).want(t, test.code, `^holdfast: .*`+test.says)
	}
}

// A cluster of one verifies the members to come, though the address at which it listens is not in its certificate.
func TestFirstMemberWithTLS(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	c.ca.Issue("server", func(x *x509.Certificate) { x.IPAddresses, x.DNSNames = nil, []string{"localhost"} })
	route := porttest.Free(t, 1)[0]
	_, port, _ := net.SplitHostPort(route)
	p := serve(t, append(c.flags("ca", "server"), "--name", "n1", "--cluster-listen", "0.0.0.0:"+port, "--routes",
		"localhost:"+port)...)
	run(t, append([]string{"acquire", "orders.42", "--server", strings.Replace(p.url, "127.0.0.1", "localhost", 1)},
		c.flags("ca", "")...)...).want(t, 0, `token 1`)
}

// Three members with one authority for all: a client with a certificate of it is let in as a client, and not as a
// member. The command about members has the certificate of one.
func TestMembersWithTLS(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"OneAuthority": false, "OwnAuthority": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCertificates(t)
			c.ca.Issue("named", func(x *x509.Certificate) {
				x.IPAddresses, x.DNSNames = nil,
					[]string{"client.example.com"}
			})
			c.strange.Issue("route")
			flags, intruder := append(c.flags("ca", "server"), "--tls-verify"), c.flags("ca", "named")
			member := c.flags("ca", "server")
			if own {
				flags = append(flags, "--cluster-tls",
					strings.Join([]string{c.file("route.pem"), c.file("route-key.pem"), c.file("strange-ca.pem")}, ","))
				member = c.flags("strange-ca", "route")
			}
			m := stand.StartMembers(t, 3, flags...)
			url := strings.ReplaceAll(m.URLs(), "nats://", "tls://")
			run(t, append([]string{"acquire", "orders.42", "--owner", "me", "--server", url},
				c.flags("ca", "client")...)...).want(t, 0, `token 1`)
			members := func(files []string, more ...string) result {
				return run(t, append(append([]string{"members", "--routes", m.Routes()}, files...), more...)...)
			}
			// A route counts for a moment, until the other side has refused it.
			refused := func(files []string) {
				members(files, "--timeout", "2s").want(t, 5, `no member of the cluster|the cluster has no leader`)
			}
			if r := members(member); r.code != 0 || strings.Count(r.stdout, "\n") != 4 {
				t.Errorf("%+v", r)
			}
			refused(nil)
			// It names a host, so that the server which it starts is one, but none of the members.
			refused(intruder)
			if own {
				m.All[0].WaitLog("TLS route handshake error")
			} else {
				m.All[0].WaitLog("authentication error")
			}

			// Another authority takes the place of the first while they run.
			before := t.TempDir()
			stand.Must(t, os.CopyFS(before, os.DirFS(c.dir)))
			if own {
				stand.NewAuthority(t, c.dir, "strange-ca").Issue("route")
			} else {
				stand.NewAuthority(t, c.dir, "ca").Issue("server")
			}
			for _, node := range m.All {
				node.Reload()
			}
			if r := members(member); r.code != 0 {
				t.Errorf("%+v", r)
			}
			former := strings.Split(strings.ReplaceAll(strings.Join(member, "\n"), c.dir, before), "\n")
			refused(former)
		})
	}
}

// A server that begins with TLS, by flags and by a context that has all of it. The node and the
// client may listen on inboxes of their own only.
func TestHandshakeFirst(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	file := stand.NATSConfig(t, fmt.Sprintf(`
		tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true, handshake_first: true }
		authorization { users: [
			{ user: node, password: x, permissions: { publish: ">", subscribe: [ "holdfast.>", "$SRV.>", "_INBOX_node.>" ] } }
			{ user: alice, password: x, permissions: { publish: "holdfast.>", subscribe: "_INBOX_alice.>" } }
		] }`, c.file("server.pem"), c.file("server-key.pem"), c.file("ca.pem")))
	url := stand.StartNATS(t, embedded.Config{ConfigFile: file}).ClientURL()
	node := startWith(t, []string{"HOLDFAST_PASSWORD=x"},
		append(c.flags("ca", "client"), "serve", "--server", url, "--user", "node", "--tls-first", "--inbox-prefix",
			"_INBOX_node")...)
	node.out.WaitFor(t, node.done, "Holdfast is ready")
	alice := []string{"NATS_URL=" + url, "NATS_USER=alice", "NATS_PASSWORD=x"}
	flags := append(c.flags("ca", "client"), "--tlsfirst", "--inbox-prefix", "_INBOX_alice")
	runWith(t, alice, append([]string{"acquire", "orders.42"}, flags...)...).want(t, 0, `token 1`)

	dir := t.TempDir()
	stand.Must(t, os.MkdirAll(filepath.Join(dir, "nats", "context"), 0o700))
	write(t, filepath.Join(dir, "nats", "context", "all.json"),
		fmt.Sprintf(`{"description":"a test","url":%q,"user":"alice","password":"x","ca":%q,"cert":%q,"key":%q,
		"inbox_prefix":"_INBOX_alice","tls_first":true,"token":"","creds":"","nkey":"","nsc":"","color_scheme":"","jetstream_domain":""}`,
			url, c.file("ca.pem"), c.file("client.pem"), c.file("client-key.pem")))
	runWith(t, []string{"XDG_CONFIG_HOME=" + dir}, "get", "orders.42", "--context", "all").want(t, 0, `^held`)
}
