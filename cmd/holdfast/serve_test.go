package main_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

func TestReadyLineSaysHowToBegin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	p := serve(t, "--data", dir, "--shards", "3", "--name", "node-7")
	for _, want := range []string{p.url, "node node-7", "3 shards", dir} {
		if !strings.Contains(p.ready, want) {
			t.Errorf("the ready line lacks %q: %s", want, p.ready)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data directory: %v, %v", info, err)
	}
}

// The command that the ready lines show is one that works.
func TestReadyLinesCanBeCopied(t *testing.T) {
	t.Parallel()
	p := serve(t, "--prefix", "my.locks")
	shown := regexp.MustCompile(`holdfast (acquire .*)`).FindStringSubmatch(p.out.WaitFor(t, p.done, "Take a lock:"))
	run(t, strings.Fields(shown[1])...).want(t, 0, `^acquired orders\.42: token 1, lease 30s$`)
	byNATS := p.out.WaitFor(t, p.done, "nats --server")
	if !strings.Contains(byNATS, p.url+` req my.locks.acquire.orders.42 '{"owner":"me","ttl_ms":30000}'`) {
		t.Errorf("%s", byNATS)
	}
}

func TestQuietLog(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "1", "--log-level", "warn")
	p.holdfast(t, "acquire", "orders.42").want(t, 0, `token 1`)
	p.signal(t, syscall.SIGINT)
	p.wait(t)
	if p.log.String() != "" {
		t.Errorf("log at level warn:\n%s", p.log)
	}
	chatty := serve(t, "--shards", "1", "--log-level", "debug", "--log-format", "json")
	chatty.log.WaitFor(t, chatty.done, `"from":"nats-server"`)
}

// A log in JSON is JSON from the first line to the last, with units in it.
func TestLogInJSON(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "1", "--log-format", "json", "--log-level", "debug")
	p.signal(t, syscall.SIGINT)
	p.wait(t)
	stopping := false
	for line := range strings.Lines(p.out.String() + p.log.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Errorf("%v: %q", err, line)
		}
		if record["msg"] == "stopping" {
			stopping = record["timeout"] == "10s"
		}
	}
	if !stopping {
		t.Errorf("the timeout of the stop is not 10s:\n%s", p.log)
	}
	if !strings.Contains(p.ready, `"msg":"Holdfast is ready","nats":"nats://127.0.0.1:`) {
		t.Errorf("the ready line is %s", p.ready)
	}
}

func TestDataDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data", dir, "--shards", "3")
	run(t, "serve", "--listen", "127.0.0.1:0", "--data", dir).
		want(t, 1, `^holdfast: the data directory cannot be used: .* is in use by another process`)
	p.signal(t, syscall.SIGINT)
	p.wait(t)
	run(t, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--shards", "4").want(t, 1,
		`^holdfast: .*was made with 3, not 4`)
	if same := serve(t, "--data", dir); !strings.Contains(same.ready, "3 shards") {
		t.Errorf("without --shards: %s", same.ready)
	}
	// A path below a file can be written by nobody, not even root.
	file := filepath.Join(t.TempDir(), "file")
	stand.Must(t, os.WriteFile(file, nil, 0o600))
	run(t, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(file, "data")).
		want(t, 1, `^holdfast: the data directory cannot be used: .* is not a directory`)
	run(t, "serve", "--listen", "127.0.0.1:0", "--data", file).
		want(t, 1, `^holdfast: the data directory cannot be used: .* is not a directory`)
}

func TestDataDirectoryWithoutPermission(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sealed")
	stand.Must(t, os.Mkdir(dir, 0o500))
	if f, err := os.Create(filepath.Join(dir, "probe")); err == nil {
		_ = f.Close()
		t.Skip("root may write everywhere")
	}
	run(t, "serve", "--listen", "127.0.0.1:0", "--data", dir).
		want(t, 1, `^holdfast: the data directory cannot be used: .* is not writable`)
}

func TestListenAddress(t *testing.T) {
	t.Parallel()
	taken := stand.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = taken.Close() }()
	data := t.TempDir()
	r := run(t, "serve", "--listen", taken.Addr().String(), "--data", data)
	if r.code != 1 || !regexp.MustCompile(`(?m)^holdfast: .*another program listens there`).MatchString(r.stderr) ||
		r.stdout != "" {
		t.Errorf("port in use: %+v", r)
	}
	run(t, "serve", "--listen", "0.0.0.0:0", "--data", data).want(t, 1,
		`^holdfast: .*open to other hosts without authentication.*--allow-remote`)
	run(t, "serve", "--listen", "here", "--data", data).want(t, 1, `^holdfast: .*"here" is not host:port`)
	run(t, "serve", "--listen", "127.0.0.1:x", "--data", data).want(t, 1, `^holdfast: .*no port from 1 to 65535`)
	open := serveWith(t, nil, "--listen", "0.0.0.0:0", "--allow-remote")
	open.holdfast(t, "acquire", "orders.42").want(t, 0, `token 1`)
}

func TestServeUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		variables, args []string
		says            string
	}{
		{nil, []string{"--server", "nats://x", "--data", "d"}, `--server and --data exclude each other: `},
		// as earlier versions called it
		{nil, []string{"--nats", "nats://x", "--data", "d"}, `--server and --data exclude each other: `},
		{[]string{"HOLDFAST_NATS=nats://x"}, []string{"--data", "d"}, `HOLDFAST_NATS and --data exclude each other: `},
		{[]string{"HOLDFAST_SERVER=nats://x"}, []string{"--data", "d"},
			`HOLDFAST_SERVER and --data exclude each other: `},
		{nil, []string{"--server", "nats://x", "--listen", "127.0.0.1:0"},
			`--server and --listen exclude each other: `},
		{nil, []string{"--server", "nats://x", "--nats-config", "f"},
			`--server and --nats-config exclude each other: `},
		{nil, []string{"--server", "nats://x", "--unsafe-sync"}, `--server and --unsafe-sync exclude each other: `},
		{[]string{"HOLDFAST_DATA=d"}, []string{"--server", "nats://x"},
			`--server and HOLDFAST_DATA exclude each other: `},
		{nil, []string{"--nats-config", "f", "--data", "d"}, `--nats-config and --data exclude each other: `},
		{nil, []string{"--nats-config", "f", "--tls-cert", "c"},
			`--nats-config and --tls-cert exclude each other: .*TLS and the logins`},
		{nil, []string{"--tls-first"}, `--tls-first needs --server: they are for an external NATS`},
		{nil, []string{"--server", "nats://x", "--inbox-prefix", "a b"},
			`--inbox-prefix: a subject without spaces and wildcards`},
		{nil, []string{"--nats-config", "f", "--auth", "a"}, `--nats-config and --auth exclude each other: `},
		{nil, []string{"--server", "nats://x", "--auth", "a"}, `--server and --auth exclude each other: `},
		{nil, []string{"--nats-config", "missing"}, `--nats-config: cannot read "missing": no such file or directory`},
		{nil, []string{"--creds", "f"}, `--creds needs --server, --nats-config or --auth`},
		{nil, []string{"--tls-ca", "f"}, `--tls-ca needs --tls-cert: the embedded NATS needs a certificate`},
		{nil, []string{"--server", "nats://x", "--tls-cert", "f"}, `--tls-cert needs --tls-key`},
		{nil, []string{"--server", "nats://x", "--creds", "missing"}, `--creds: cannot read "missing"`},
		{nil, []string{"--server", "nats://x", "--creds", "f", "--nkey", "g"}, `--creds and --nkey exclude each other`},
		{nil, []string{"--server", "nats://x", "--user", "u"}, `--user needs --password`},
		{nil, []string{"--server", ""}, `--server must not be empty; omit it`},
		{nil, []string{"--data", ""}, `--data must not be empty; omit it`},
		{nil, []string{"--shards", "2000"}, `--shards: 1 to 1024, got "2000"`},
		{nil, []string{"--shards", "0"}, `--shards: 1 to 1024, got "0"`},
		{[]string{"HOLDFAST_SHARDS=0"}, nil, `HOLDFAST_SHARDS: 1 to 1024, got "0"`},
		{[]string{"HOLDFAST_MAX_TLL=1h"}, nil, `unknown setting HOLDFAST_MAX_TLL; did you mean HOLDFAST_MAX_TTL\?`},
		{nil, []string{"--shards", "-1"}, `--shards: 1 to 1024, got "-1"`},
		{nil, []string{"--replicas", "0"}, `--replicas: 1 to 5, got "0"`},
		{nil, []string{"--cluster-listen", "127.0.0.1:6222"}, `--cluster-listen needs --routes`},
		{nil, []string{"--routes", "127.0.0.1:6222"}, `--routes needs --cluster-listen`},
		{nil, []string{"--server", "nats://x", "--routes", "127.0.0.1:6222"},
			`--server and --routes exclude each other`},
		{nil, []string{"--cluster-listen", "127.0.0.1:6222", "--routes", "here"}, `route "here" is not HOST:PORT`},
		{nil, []string{"--name", "a b"}, `--name: .* without spaces, got "a b"`},
		{nil, []string{"--prefix", "$JS"}, `--prefix: not beginning with _ or \$, got "\$JS"`},
		{nil, []string{"--min-ttl", "2s", "--max-ttl", "1s"}, `--min-ttl 2s is longer than --max-ttl 1s`},
		{nil, []string{"--max-ttl", "48h"}, `--max-ttl: 100ms to 24h, got "48h"`},
		{nil, []string{"--max-delay", "2h"}, `--max-delay: 0ms to 1h, got "2h"`},
		{nil, []string{"--max-connections", "15"}, `--max-connections: 16 to 1000000, got "15"`},
		{nil, []string{"--max-subscriptions", "0"}, `--max-subscriptions: 100000 to 100000000, got "0"`},
		{nil, []string{"--server", "nats://x", "--max-connections", "16"},
			`--server and --max-connections exclude each other: `},
		{nil, []string{"--nats-config", "f", "--max-subscriptions", "100000"},
			`--nats-config and --max-subscriptions exclude each other: .*max_subscriptions`},
		{nil, []string{"--max-held", "0"}, `--max-held: 1 to 100000000, got "0"`},
		{nil, []string{"--max-waiting", "-1"}, `--max-waiting: 1 to 10000000, got "-1"`},
		{nil, []string{"--max-queue", "1000001"}, `--max-queue: 1 to 1000000, got "1000001"`},
		{nil, []string{"--max-rate", "99999999999999999999"}, `--max-rate: 1 to 10000000, got "9+"`},
		{nil, []string{"--max-rate", "10/s"}, `--max-rate: a whole number, got "10/s"`},
		{[]string{"HOLDFAST_MAX_HELD=many"}, nil, `HOLDFAST_MAX_HELD: a whole number, got "many"`},
		{nil, []string{"--history", "0"}, `--history: 1 to 10000000, got "0"`},
		{nil, []string{"--history", "all"}, `--history: a whole number, got "all"`},
		{[]string{"HOLDFAST_HISTORY=10000001"}, nil, `HOLDFAST_HISTORY: 1 to 10000000, got "10000001"`},
		{nil, []string{"--log-level", "loud"}, `--log-level: debug, info, warn or error, got "loud"`},
		{[]string{"HOLDFAST_LOG_FORMAT=xml"}, nil, `HOLDFAST_LOG_FORMAT: text or json, got "xml"`},
		{[]string{"HOLDFAST_UNSAFE_SYNC=perhaps"}, nil, `HOLDFAST_UNSAFE_SYNC: must be true or false, got "perhaps"`},
		{nil, []string{"extra"}, `takes no arguments, got "extra"`},
	} {
		runWith(t, test.variables, append([]string{"serve"}, test.args...)...).want(t, 2, `^holdfast: .*`+test.says)
	}
	run(t, "serve", "--listen", "127.0.0.1:0", "--cluster-listen", "0.0.0.0:6222", "--routes", "127.0.0.1:6222").
		want(t, 1, `^holdfast: .*0\.0\.0\.0:6222 is open to other hosts .* --allow-remote$`)
	run(t, "serve", "--replicas", "3", "--listen", "127.0.0.1:0").want(t, 2,
		`^holdfast: .*3 replicas need a JetStream cluster`)
}

// A node whose NATS starts later waits for it, until a signal ends it.
func TestServeWaitsForNATS(t *testing.T) {
	t.Parallel()
	address := porttest.Free(t, 1)[0]
	waiting := start(t, "serve", "--server", "nats://u:secret@"+address, "--name", "waiting")
	stopped := start(t, "serve", "--server", "nats://u:secret@"+address, "--name", "stopped")
	for _, p := range []*process{waiting, stopped} {
		if line := p.log.WaitFor(t, p.done, "waiting for NATS"); !strings.Contains(line, address) || strings.Contains(line, "secret") {
			t.Errorf("it says: %s", line)
		}
	}
	stopped.signal(t, syscall.SIGTERM)
	stopped.wantExit(t, 0)
	serveWith(t, nil, "--listen", address, "--shards", "1", "--name", "with-nats")
	waiting.out.WaitFor(t, waiting.done, "Holdfast is ready")
}

// A NATS of which the file says everything: who may log in, and what for.
func TestNATSConfiguration(t *testing.T) {
	t.Parallel()
	file := stand.NATSConfig(t, `
		server_name: from-file
		authorization { users: [
			{ user: node, password: secret }
			{ user: app, password: pass, permissions: {
				publish: ["holdfast.acquire.orders.>", "holdfast.get.orders.>"], subscribe: ["_INBOX.>"] } }
			{ user: deaf, password: pass, permissions: { publish: [">"], subscribe: ["nothing"] } }
		] }`)
	for _, login := range [][]string{{"--user", "wrong", "--password", "secret"},
		{"--user", "node", "--password", "wrong"}} {
		r := run(t, append([]string{"serve", "--nats-config", file}, login...)...)
		r.wantBoth(t, 5, `^$`,
			`holdfast: cannot connect to NATS: .*nats\.conf does not permit this user; give --creds, --nkey, or --user and --password`)
	}
	p := serveWith(t, []string{"HOLDFAST_PASSWORD=secret"}, "--nats-config", file, "--user", "node")
	p.holdfast(t, "get", "orders.42").want(t, 5, `^holdfast: the NATS server at nats://.* does not permit this user`)
	p.holdfast(t, "get", "orders.42", "--user", "app", "--password", "wrong").want(t, 5, `does not permit this user`)
	p.holdfast(t, "acquire", "orders.42", "--user", "app", "--password", "pass").want(t, 0, `token 1`)
	p.holdfast(t, "acquire", "people.7", "--user", "app", "--password", "pass").
		want(t, 5, `does not permit this user to acquire: .*Publish to "holdfast\.acquire\.people\.7"`)
	p.holdfast(t, "acquire", "people.7", "--user", "deaf", "--password", "pass").want(t, 5,
		`does not permit this user to acquire: .*Subscription`)
	runWith(t, []string{"NATS_URL=" + p.url, "NATS_USER=app", "NATS_PASSWORD=pass"}, "get", "orders.42").want(t, 0,
		`^held: `)

	// Two deployments in one NATS do not meet.
	other := serveWith(t, nil, "--server", strings.Replace(p.url, "//", "//node:secret@", 1), "--prefix", "other",
		"--shards", "1", "--name", "b")
	if strings.Contains(other.ready, "secret") {
		t.Errorf("the password is shown: %s", other.ready)
	}
	other.holdfast(t, "acquire", "orders.42", "--prefix", "other", "--user", "node", "--password", "secret").want(t, 0,
		`token 1`)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	stand.Must(t, os.WriteFile(file, []byte(text), 0o600))
}
