package main_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// The settings and the logins that docs/deploy.md shows, with the certificates of docs/secured.md, make a cluster of three
// nodes, in which each user has the rights that the pages say, and which takes no server and no client with another
// certificate. Its backup is made by the unit of the page.
func TestSecuredCluster(t *testing.T) {
	t.Parallel()
	c := newSecured(t, 3)
	nodes := make([]*process, 3)
	for i := range nodes {
		nodes[i] = c.start(t, i)
	}
	for i, node := range nodes {
		node.out.WaitFor(t, node.done, "Holdfast is ready: NATS at tls://"+c.clients[i])
	}

	orders := func(args ...string) result { return c.as(t, "orders", args...) }
	operator := func(args ...string) result { return c.as(t, "operator", args...) }
	orders("lock", "orders.42", "-v", "--", "sh", "-c", "echo $HOLDFAST_TOKEN").
		wantBoth(t, 0, `^000000000000001\n$`,
			`^holdfast: acquired orders\.42: token 1\nholdfast: released orders\.42\n$`)
	orders("acquire", "orders.42", "--owner", "me", "--ttl", "10m").want(t, 0, `token 2`)
	orders("break", "orders.42", "--token", "2").want(t, 5, `does not permit this user to break`)
	orders("acquire", "people.7").want(t, 5, `does not permit this user to acquire`)
	orders("ls").want(t, 5, `does not permit this user to list: .*Publish to "holdfast\.list"$`)
	runWith(t, c.user("orders", "client"), "get", "orders.42").want(t, 5,
		`Subscription to "_INBOX\..*; if the user has inboxes of its own, give --inbox-prefix$`)
	runWith(t, c.user("orders", "client"), "doctor").wantBoth(t, 3, `(?s)subscribe to _INBOX\..* do +give --inbox-prefix`, `^$`)

	operator("acquire", "orders.43").want(t, 5, `does not permit this user to acquire`)
	wantRows(t, operator("ls"), titles, `orders\.42 me 2 9m\S+ 0`)
	operator("break", "orders.42", "--token", "2").want(t, 0, `^broke`)
	orders("acquire", "orders.42").want(t, 0, `token 3`)

	// The command of the backup's unit, as systemd passes it on.
	line := regexp.MustCompile(`ExecStart=/bin/sh -c '(.*)'`).FindStringSubmatch(read(t, "../../docs/deploy.md"))
	if line == nil {
		t.Fatal("docs/deploy.md shows no unit of a backup")
	}
	command := strings.NewReplacer("$$", "$", "%%", "%", "/usr/bin/holdfast", stand.Binary(t)).Replace(line[1])
	backup := exec.Command("sh", "-c", command)
	backup.Dir, backup.Env = t.TempDir(), append(os.Environ(), c.user("holdfast", "client")...)
	if out, err := backup.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 lease held") {
		t.Errorf("%s: %v\n%s", command, err, out)
	}

	// Neither an unknown certificate nor the right one with another password gets in.
	runWith(t, c.user("orders", "route"), "get", "orders.42").want(t, 5, `^holdfast: cannot connect to NATS .*tls`)
	runWith(t, append(c.user("orders", "client"), "NATS_PASSWORD=wrong"), "get", "orders.42").want(t, 5, `does not permit this user`)
	run(t, "get", "orders.42", "--server", "tls://"+c.clients[0], "--tls-ca", c.file("ca.pem"), "--user", "orders",
		"--password", "o").
		want(t, 5, `^holdfast: cannot connect to NATS .*tls`)

	// A server that has a client's certificate for its routes stays outside.
	c.replace(t, "route.pem", "client.pem")
	c.replace(t, "route-key.pem", "client-key.pem")
	stranger := c.start(t, 3)
	nodes[0].log.WaitFor(t, nodes[0].done, "TLS route handshake error")
	stranger.log.WaitFor(t, stranger.done, "sees=[n4]")
}

// The NATS configuration of the page makes the same cluster.
func TestSecuredClusterByConfiguration(t *testing.T) {
	t.Parallel()
	c := newSecured(t, 3)
	page := stand.Value(os.ReadFile("../../docs/secured.md"))(t)
	config := regexp.MustCompile("(?s)```\n(listen:.*?)\n```").FindStringSubmatch(string(page))
	command := regexp.MustCompile("`holdfast (serve --nats-config .*?)`").FindStringSubmatch(string(page))
	if config == nil || command == nil {
		t.Fatal("docs/secured.md shows no configuration, or no command for it")
	}
	for i := range 3 {
		config[1] = swap(t, config[1], fmt.Sprintf("n%d.example.com:6222", i+1), c.routes[i])
	}
	write(t, c.file("auth.conf"), c.auth)
	var nodes []*process
	for i := range 3 {
		name := fmt.Sprintf("n%d", i+1)
		file := c.file(name + ".conf")
		write(t, file, c.here(t, config[1], i))
		nodes = append(nodes, c.run(t, swap(t, swap(t, command[1], "/etc/holdfast/nats.conf", file), "--name n1 ",
			"--name "+name+" ")))
	}
	for i, node := range nodes {
		node.out.WaitFor(t, node.done, "Holdfast is ready: NATS at tls://"+c.clients[i])
	}
	c.as(t, "orders", "acquire", "orders.42").want(t, 0, `token 1`)
	c.as(t, "orders", "acquire", "people.7").want(t, 5, `does not permit this user to acquire`)
}

// A cluster that has lost all its disks begins again with a backup that is restored for its first member, and with the
// settings that it had.
func TestSecuredClusterIsRestored(t *testing.T) {
	t.Parallel()
	c := newSecured(t, 3)
	restore := regexp.MustCompile("holdfast (restore .* --data /var/lib/holdfast .*)").
		FindStringSubmatch(read(t, "../../docs/backup.md"))
	if restore == nil {
		t.Fatal("docs/backup.md shows no command for three hosts")
	}
	start := func() (nodes []*process) {
		for i := range 3 {
			nodes = append(nodes, c.start(t, i))
		}
		for _, node := range nodes {
			node.out.WaitFor(t, node.done, "Holdfast is ready")
		}
		return nodes
	}
	nodes := start()
	c.as(t, "orders", "acquire", "orders.42", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	file := filepath.Join(t.TempDir(), "locks.backup")
	runWith(t, c.user("holdfast", "client"), "backup", file).want(t, 0, `1 lease held`)
	for i, node := range nodes {
		node.kill(t)
		stand.Must(t, os.RemoveAll(c.file(fmt.Sprintf("n%d", i+1))))
	}
	command := swap(t, swap(t, restore[1], "/var/lib/holdfast", c.file("n1")), "127.0.0.1:6222", c.routes[0])
	run(t, strings.Fields(swap(t, command, "locks.backup", file))...).wantBoth(t, 0, `^restored`, `^$`)
	start()
	c.as(t, "orders", "get", "orders.42").want(t, 0, `^held: orders\.42 by "me", token 1`)
	c.as(t, "orders", "acquire", "orders.43").want(t, 0, `token 1000000000002,`)
}

// The commands of docs/secured.md make certificates with the names and the uses that its table says.
func TestCertificatesOfThePage(t *testing.T) {
	t.Parallel()
	commands := regexp.MustCompile("(?s)```\n(ec=.*?)```").FindStringSubmatch(read(t, "../../docs/secured.md"))
	if commands == nil {
		t.Fatal("docs/secured.md shows no commands that make certificates")
	}
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "sh", "-ec", commands[1])
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	certificate := func(name string) *x509.Certificate {
		block, _ := pem.Decode([]byte(read(t, filepath.Join(dir, name))))
		return stand.Value(x509.ParseCertificate(block.Bytes))(t)
	}
	for name, want := range map[string]struct {
		authority, host string
		uses            []x509.ExtKeyUsage
	}{
		"server.pem": {"ca.pem", "n1.example.com", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"client.pem": {"ca.pem", "orders", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		"route.pem": {"routes-ca.pem", "n1.example.com",
			[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
	} {
		made, roots := certificate(name), x509.NewCertPool()
		roots.AddCert(certificate(want.authority))
		_, err := made.Verify(x509.VerifyOptions{Roots: roots, DNSName: want.host, KeyUsages: want.uses})
		if err != nil || made.IsCA || !slices.Equal(made.ExtKeyUsage, want.uses) {
			t.Errorf("%s: error %v, an authority: %t, uses %v", name, err, made.IsCA, made.ExtKeyUsage)
		}
	}
}

// secured is the deployment of docs/deploy.md on this host, with certificates of clients.
type secured struct {
	dir, auth, settings string
	// clients and routes are the addresses of the members, and of one more server.
	clients, routes []string
}

// newSecured makes the certificates of a cluster of so many nodes, and takes its logins and settings from the page.
func newSecured(t *testing.T, n int) *secured {
	t.Helper()
	page := string(stand.Value(os.ReadFile("../../docs/deploy.md"))(t))
	logins := regexp.MustCompile("`holdfast (access deployment [^`]*) > auth.conf`").FindStringSubmatch(page)
	settings := regexp.MustCompile("(?s)```yaml\n(name: n1\n.*?)```").FindStringSubmatch(page)
	if logins == nil || settings == nil {
		t.Fatal("docs/deploy.md shows no command for the logins, or no settings")
	}
	auth := run(t, strings.Fields(strings.ReplaceAll(logins[1], "'", ""))...)
	if auth.code != 0 {
		t.Fatalf("%s: exit code %d: %s", logins[1], auth.code, auth.stderr)
	}
	addresses := porttest.Free(t, 2*n+2)
	s := &secured{
		dir: t.TempDir(), auth: auth.stdout, settings: settings[1] + "tls-verify: true\n",
		clients: addresses[:n+1], routes: addresses[n+1:],
	}
	for i := range n {
		s.settings = swap(t, s.settings, fmt.Sprintf("n%d.example.com:6222", i+1), s.routes[i])
	}
	clients, routes := stand.NewAuthority(t, s.dir, "ca"), stand.NewAuthority(t, s.dir, "routes-ca")
	clients.Issue("server")
	clients.Issue("client")
	routes.Issue("route")
	return s
}

// swap replaces what the page has for other hosts, which has to be there.
func swap(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("the page has no %q", old)
	}
	return strings.ReplaceAll(text, old, by)
}

func (s *secured) file(name string) string { return filepath.Join(s.dir, name) }

// start starts a node as the page says, and does not wait until it is ready.
func (s *secured) start(t *testing.T, i int) *process {
	t.Helper()
	name := fmt.Sprintf("n%d", i+1)
	write(t, s.file("auth.new"), s.auth) // the nodes before may be about to read the file
	stand.Must(t, os.Rename(s.file("auth.new"), s.file("auth.conf")))
	file := s.file(name + ".yaml")
	write(t, file, swap(t, s.here(t, s.settings, i), "name: n1\n", "name: "+name+"\n"))
	return s.run(t, "serve --config "+file)
}

// here replaces the addresses and folders of the page by those of a node.
func (s *secured) here(t *testing.T, text string, i int) string {
	t.Helper()
	text = swap(t, text, "0.0.0.0:4222", s.clients[i])
	text = swap(t, text, "0.0.0.0:6222", s.routes[i])
	text = swap(t, text, "/var/lib/holdfast", s.file(fmt.Sprintf("n%d", i+1)))
	return swap(t, text, "/etc/holdfast", s.dir)
}

// run starts the command of a node, with the passwords.
func (s *secured) run(t *testing.T, command string) *process {
	t.Helper()
	return startWith(t, []string{"HOLDFAST_PASSWORD=h", "ORDERS_PASSWORD=o", "OPERATOR_PASSWORD=p", "METRICS_PASSWORD=m"},
		strings.Fields(command)...)
}

// user returns the variables of a client that logs in so, with one of the certificates.
func (s *secured) user(name, certificate string) []string {
	password := map[string]string{"orders": "o", "operator": "p", "holdfast": "h"}[name]
	return []string{
		"NATS_URL=tls://" + strings.Join(s.clients[:3], ",tls://"), "NATS_CA=" + s.file("ca.pem"),
		"NATS_CERT=" + s.file(certificate+".pem"), "NATS_KEY=" + s.file(certificate+"-key.pem"),
		"NATS_USER=" + name, "NATS_PASSWORD=" + password,
	}
}

// as runs a command as a user, with the inbox prefix that its permissions have.
func (s *secured) as(t *testing.T, user string, args ...string) result {
	t.Helper()
	return runWith(t, s.user(user, "client"),
		slices.Insert(args, 1, "--inbox-prefix", "_INBOX."+user)...)
}

// replace puts one file in the place of another.
func (s *secured) replace(t *testing.T, name, by string) {
	t.Helper()
	data := stand.Value(os.ReadFile(s.file(by)))(t)
	write(t, s.file(name), string(data))
}
