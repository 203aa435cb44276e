package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

func TestLifeOfALock(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "get", "orders.42").want(t, 0, `^free: orders\.42, no token yet$`)
	p.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "24h").want(t, 0,
		`^acquired orders\.42: token 1, lease 24h$`)
	p.holdfast(t, "acquire", "orders.42", "--owner", "you").want(t, 3,
		`^held: orders\.42 by "me", token 1, 23h\S+ left$`)
	p.holdfast(t, "acquire", "orders.42", "--owner", "you", "--wait", "100ms").want(t, 3,
		`^timed out: orders\.42 was not free within 100ms; it is held by "me", token 1, `)
	p.holdfast(t, "acquire", "orders.42", "--owner", "me").want(t, 3, `^held: `)
	p.holdfast(t, "get", "orders.42").want(t, 0, `^held: orders\.42 by "me", token 1, `)
	p.holdfast(t, "get", "orders.42", "--stale").want(t, 0, `^held: orders\.42 by "me", token 1, `)
	p.holdfast(t, "extend", "orders.42", "--owner", "me", "--ttl", "20m").want(t, 0,
		`^extended orders\.42: token 1, lease 20m$`)
	p.holdfast(t, "extend", "orders.42", "--owner", "me", "--token", "2").want(t, 4,
		`^stale token: orders\.42 is held by "me", token 1, `)
	p.holdfast(t, "extend", "orders.42", "--owner", "you").want(t, 4,
		`^not owner: orders\.42 is held by "me", token 1, `)
	p.holdfast(t, "release", "orders.42", "--owner", "you").want(t, 4, `^not owner: `)
	p.holdfast(t, "release", "orders.42", "--owner", "me", "--token", "000000000000001").want(t, 0,
		`^released orders\.42$`)
	p.holdfast(t, "release", "orders.42", "--owner", "me", "--token", "1").want(t, 0, `^released orders\.42$`)
	p.holdfast(t, "release", "orders.42", "--owner", "you").want(t, 4,
		`^not held: nobody holds orders\.42, and "you" was not its last holder$`)
	p.holdfast(t, "extend", "orders.42", "--owner", "me", "--ttl", "1m").want(t, 4,
		`^not held: nobody holds orders\.42; "me" has released it, or never held it$`)
	p.holdfast(t, "get", "orders.42").want(t, 0, `^free: orders\.42, last token 1$`)
	p.holdfast(t, "acquire", "orders.42", "--owner", "you").want(t, 0, `^acquired orders\.42: token 2, lease 30s$`)
}

func TestExpiredLease(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "100ms").want(t, 0, `token 1, lease 100ms$`)
	stand.Eventually(t, "the lease has run out", func() bool {
		return strings.HasPrefix(p.holdfast(t, "get", "orders.42").stdout, "free: ")
	})
	p.holdfast(t, "extend", "orders.42", "--owner", "me").want(t, 4,
		`^expired: the lease of "me" on orders\.42 had expired; it has not been granted again$`)
	p.holdfast(t, "release", "orders.42", "--owner", "me", "--token", "1").want(t, 4, `^expired: `)
}

func TestNamesThatNeedCare(t *testing.T) {
	t.Parallel()
	p := serve(t)
	for _, name := range []string{"a b", "*", "a.>", ".", "..", "document:123", "/path/to it", "😀", "=2E", "-", "ünï"} {
		p.holdfast(t, "acquire", "--owner", "me", "--", name).want(t, 0, `token 1, lease 30s$`)
		p.holdfast(t, "get", "--", name).want(t, 0, `^held: .* by "me", token 1, `)
	}
	// The two spellings of é are one lock.
	p.holdfast(t, "acquire", "caf\u00e9", "--owner", "me").want(t, 0, `^acquired café: token 1`)
	p.holdfast(t, "acquire", "cafe\u0301", "--owner", "you").want(t, 3, `^held: café by "me"`)
}

func TestWhatOthersWriteIsShownSafely(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "orders.42", "--owner", "me\u202e", "--metadata", "job=\x1b[2J", "--metadata", "a b=c=d,e",
		"--ephemeral").
		want(t, 0, `^acquired orders\.42: token 1`)
	p.holdfast(t, "get", "orders.42").
		want(t, 0, `^held: orders\.42 by "me\\u202e", token 1, \S+ left, ephemeral, "a b"="c=d,e", job="\\x1b\[2J"$`)
	p.holdfast(t, "get", "orders.42", "--json").want(t, 0, `"owner":"me\\u202e".*"job":"\\u001b\[2J"`)
}

func TestJSON(t *testing.T) {
	t.Parallel()
	p := serve(t)
	reply := func(code int, args ...string) *messages.Reply {
		t.Helper()
		r := p.holdfast(t, append(args, "--json")...).want(t, code, `^\{.*\}$`)
		var m messages.Reply
		stand.Must(t, messages.DecodeReply(messages.JSON, []byte(r.stdout), &m))
		return &m
	}
	acquired := reply(0, "acquire", "orders.42", "--owner", "me", "--metadata", "job=nightly")
	if l := acquired.GetLease(); acquired.GetStatus() != messages.Status_GRANTED || l.GetToken() != 1 ||
		l.GetFence() != "000000000000001" || l.GetOwner() != "me" || l.GetTtlMs() != 30000 ||
		l.GetMetadata()["job"] != "nightly" {
		t.Errorf("acquire: %v", acquired)
	}
	if held := reply(3, "acquire", "orders.42", "--owner", "you"); held.GetStatus() != messages.Status_HELD || held.GetLease().GetOwner() != "me" {
		t.Errorf("second acquire: %v", held)
	}
	if lost := reply(4, "release", "orders.42", "--owner", "you"); lost.GetStatus() != messages.Status_NOT_OWNER {
		t.Errorf("release by another: %v", lost)
	}
	if extended := reply(0, "extend", "orders.42", "--owner", "me", "--ttl", "1m"); extended.GetLease().GetTtlMs() != 60000 {
		t.Errorf("extend: %v", extended)
	}
	if released := reply(0, "release", "orders.42", "--owner", "me"); released.GetStatus() != messages.Status_RELEASED {
		t.Errorf("release: %v", released)
	}
	if free := reply(0, "get", "orders.42"); free.GetStatus() != messages.Status_FREE ||
		free.GetLease().GetToken() != 1 {
		t.Errorf("get: %v", free)
	}
}

func TestTightenedLimits(t *testing.T) {
	t.Parallel()
	p := serve(t, "--min-ttl", "1s", "--max-ttl", "1m")
	p.holdfast(t, "acquire", "orders.42", "--ttl", "900ms").want(t, 2,
		`^holdfast: invalid: --ttl: 1s to 1m, got "900ms"$`)
	p.holdfast(t, "acquire", "orders.42", "--ttl", "61.234s").want(t, 2,
		`^holdfast: invalid: --ttl: 1s to 1m, got "61\.234s"$`)
	p.holdfast(t, "lock", "orders.42", "--ttl", "2m", "--", "true").want(t, 2, `^holdfast: .*--ttl: 1s to 1m, got "2m"`)
	p.holdfast(t, "acquire", "orders.42", "--ttl", "2m", "--json").want(t, 2, `^\{"status":"INVALID","error":"ttl_ms: `)
	p.holdfast(t, "acquire", "orders.42", "--ttl", "1m").want(t, 0, `lease 1m$`)
	p.holdfast(t, "extend", "orders.42", "--ttl", "2m").want(t, 2, `^holdfast: invalid: --ttl: 1s to 1m, got "2m"$`)
}

func TestMaxDelay(t *testing.T) {
	t.Parallel()
	p := serve(t, "--max-delay", "1m")
	nc := stand.Dial(t, p.url)
	for delay, want := range map[string]string{"60000": `"GRANTED"`, "60001": `delay_ms: at most 60000, got 60001`} {
		m, err := nc.Request("holdfast.acquire.delay"+delay,
			[]byte(`{"owner":"me","ttl_ms":1000,"delay_ms":`+delay+`}`), time.Minute)
		if err != nil || !strings.Contains(string(m.Data), want) {
			t.Errorf("%s: got %v, %v, want %s", delay, m, err, want)
		}
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	run(t, "acquire", "orders.42", "--server", "nats://u:secret@127.0.0.1:1", "--timeout", "100ms").
		want(t, 5, `^holdfast: no NATS server answers at nats://127\.0\.0\.1:1; start one with: holdfast serve`)
	p := serve(t)
	p.holdfast(t, "acquire", "orders.42", "--prefix", "other", "--timeout", "1s").
		want(t, 5, `^holdfast: no Holdfast node with the prefix "other" answers at nats://`)
}

// Each line is a mistake on the command line and what is said of it.
func TestUsage(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	stand.Must(t, os.WriteFile(empty, nil, 0o600))
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"acquir", "orders.42", "--owner", "me"}, `unknown command "acquir"; did you mean holdfast acquire\?`},
		{[]string{"frobnicate"}, `unknown command "frobnicate"; see holdfast --help`},
		{[]string{"help", "frobnicate"}, `unknown command "frobnicate"`},
		{[]string{"--frobnicate"}, `holdfast has no flag --frobnicate; see holdfast --help`},
		{[]string{"acquire"}, `name the resource, as in: holdfast acquire orders\.42`},
		{[]string{"acquire", "a", "b"}, `takes one resource, got 2: "a", "b"`},
		{[]string{"acquire", ""}, `resource: 1 to 512 bytes, got 0 bytes`},
		{[]string{"acquire", "a\x1b[31m"}, `resource: UTF-8 without control characters, got "a\\x1b\[31m"`},
		{[]string{"acquire", "a\xff"}, `resource: UTF-8 without control characters`},
		{[]string{"acquire", strings.Repeat("a", 513)}, `resource: 1 to 512 bytes, got 513 bytes`},
		{[]string{"acquire", "a", "--onwer", "me"}, `no flag --onwer; did you mean --owner\?`},
		{[]string{"acquire", "a", "-q"}, `no flag -q`},
		{[]string{"acquire", "a", "--owner", ""}, `--owner must not be empty; omit it`},
		{[]string{"acquire", "a", "--request-id", ""}, `--request-id must not be empty`},
		{[]string{"acquire", "a", "--server", ""}, `--server must not be empty`},
		{[]string{"acquire", "a", "--owner", strings.Repeat("a", 257)}, `--owner: 1 to 256 bytes, got 257 bytes`},
		{[]string{"acquire", "a", "--owner", "a\tb"}, `--owner: UTF-8 without control characters`},
		{[]string{"acquire", "a", "--ttl"}, `--ttl requires a value`},
		{[]string{"acquire", "a", "--ttl", "30"}, `--ttl: a duration such as 30s, 1m30s or 500ms, got "30"`},
		{[]string{"acquire", "a", "--ttl", "50ms"}, `--ttl: 100ms to 24h, got "50ms"`},
		{[]string{"acquire", "a", "--ttl", "25h"}, `--ttl: 100ms to 24h, got "25h"`},
		{[]string{"acquire", "a", "--ttl", "-1s"}, `--ttl: 100ms to 24h, got "-1s"`},
		{[]string{"acquire", "a", "--ttl", "100.5ms"}, `--ttl: whole milliseconds, got "100\.5ms"`},
		{[]string{"acquire", "a", "--wait", "9000h"}, `--wait: 0ms to 8760h, got "9000h"`},
		{[]string{"acquire", "a", "--request-id", strings.Repeat("a", 65)},
			`--request-id: at most 64 bytes, got 65 bytes`},
		{[]string{"acquire", "a", "--metadata", "job"}, `--metadata: KEY=VALUE, got "job"`},
		{[]string{"acquire", "a", "--metadata", "job=1", "--metadata", "job=2"}, `--metadata: each key once`},
		{[]string{"acquire", "a", "--metadata", "job=" + strings.Repeat("a", 1100)},
			`--metadata: at most 1024 bytes together, got 1103 bytes`},
		{[]string{"acquire", "a", "--timeout", "0"}, `--timeout: 10ms to 24h, got "0"`},
		{[]string{"acquire", "a", "--prefix", "a b"}, `--prefix: levels of .*, got "a b"`},
		{[]string{"acquire", "a", "--json=maybe"}, `--json: must be true or false, got "maybe"`},
		{[]string{"acquire", "a", "--shared", "--limit", "5"},
			`--shared and --limit exclude each other: .*; choose --shared for a reader, --limit for a semaphore$`},
		{[]string{"acquire", "a", "--permits", "2"}, `--permits needs --limit: .*, as in: --limit 5 --permits 2$`},
		{[]string{"acquire", "a", "--shared", "--permits", "2"}, `--permits needs --limit: `},
		{[]string{"acquire", "a", "--limit", "2", "--permits", "3"},
			`--permits: at most --limit, which is 2, got 3; take fewer permits or raise --limit$`},
		{[]string{"acquire", "a", "--limit", "0"}, `--limit: 1 to 1000000000, got "0"`},
		{[]string{"acquire", "a", "--limit", "2000", "--permits", "1001"}, `--permits: 1 to 1000, got "1001"`},
		{[]string{"deadlocks", "a", "b"}, `takes one pattern, got 2: "a", "b"`},
		{[]string{"deadlocks", "orders*"}, `the pattern: .*, got "orders\*"`},
		{[]string{"release", "a", "--token", "seven"},
			`--token: a number up to 900000000000000, or the 15 digits of a fence, got "seven"`},
		{[]string{"release", "a", "--token", ""}, `--token: a number up to`},
		{[]string{"release", "a", "--token", "-1"}, `--token: a number up to`},
		{[]string{"release", "a", "--token", "900000000000001"}, `--token: a number up to`},
		{[]string{"break", "a"}, `--token is required: it selects the lease to break; find it with: holdfast get a$`},
		{[]string{"break", "a", "--token", "0"}, `--token is required: .*holdfast get a$`},
		{[]string{"break", "--token", "1"}, `name the resource, as in: holdfast break orders\.42`},
		{[]string{"break", "a", "--token", "seven"},
			`--token: a number up to 900000000000000, or the 15 digits of a fence, got "seven"`},
		{[]string{"break", "a", "--token", "1", "--reason", strings.Repeat("a", 513)},
			`--reason: at most 512 bytes, got 513 bytes`},
		{[]string{"break", "a", "--token", "1", "--reason", "a\nb"}, `--reason: UTF-8 without control characters`},
		{[]string{"break", "a", "--token", "1", "--owner", "me"}, `holdfast break has no flag --owner`},
		{[]string{"ls", "a", "b"}, `takes one pattern, got 2: "a", "b"; quote a name with spaces or stars`},
		{[]string{"ls", "orders*"},
			`the pattern: a resource in which \* is one whole level and > at the end is the rest, got "orders\*"`},
		{[]string{"ls", ">.a"}, `the pattern: .*, got ">\.a"`},
		{[]string{"ls", "*..a"}, `the pattern: .*, got "\*\.\.a"`},
		{[]string{"ls", "a\x1b"}, `the pattern: .*, got "a\\x1b"`},
		{[]string{"ls", ""}, `the pattern: .*, got ""`},
		{[]string{"ls", "--limit", "0"}, `--limit: 1 to 1000000000, got "0"`},
		{[]string{"ls", "--limit", "few"}, `--limit: a whole number, got "few"`},
		{[]string{"ls", "--token", "1"}, `holdfast ls has no flag --token`},
		{[]string{"get", "a", "--owner", "me"}, `holdfast get has no flag --owner`},
		{[]string{"get", "a", "--creds", "missing"}, `--creds: cannot read "missing": no such file or directory`},
		{[]string{"get", "a", "--nkey", empty}, `--nkey: a file with an nkey's seed`},
		{[]string{"get", "a", "--tls-cert", empty}, `--tls-cert needs --tls-key`},
		{[]string{"get", "a", "--tlskey", empty}, `--tls-key needs --tls-cert`}, // as earlier versions called it
		{[]string{"get", "a", "--context", "missing"},
			`--context: cannot read ".*nats/context/missing\.json": no such file`},
		{[]string{"get", "a", "--inbox-prefix", "a.*"},
			`--inbox-prefix: a subject without spaces and wildcards, as in _INBOX_alice, got "a\.\*"`},
		{[]string{"get", "a", "--inbox-prefix", "$JS.me"},
			`--inbox-prefix: a subject that does not begin with \$, .*got "\$JS\.me"`},
		{[]string{"get", "a", "--context", "../x"},
			`--context: the name of a context of the nats command line, got "\.\./x"`},
		{[]string{"get", "a", "--password", "p"}, `--password needs --user`},
		{[]string{"get", "a", "--user", "u", "--creds", empty}, `--creds and --user exclude each other`},
		{[]string{"version", "a"}, `takes no arguments, got "a"`},
		{[]string{"completion"}, `name the shell`},
		{[]string{"completion", "tcsh"}, `unknown command "tcsh"`},
	} {
		run(t, test.args...).want(t, 2, `^holdfast: .*`+test.says)
	}
}

func TestConnectionFromTheEnvironment(t *testing.T) {
	t.Parallel()
	one, two := serve(t), serve(t, "--prefix", "two.b")
	variables := []string{"NATS_URL=" + one.url, "HOLDFAST_OWNER=worker-7"}
	runWith(t, variables, "acquire", "orders.42").want(t, 0, `token 1`)
	one.holdfast(t, "get", "orders.42").want(t, 0, `by "worker-7"`)
	runWith(t, variables, "acquire", "orders.42", "--server", two.url, "--prefix", "two.b", "--owner", "flag").want(t,
		0, `token 1`)
	runWith(t, []string{"NATS_URL=" + two.url, "HOLDFAST_PREFIX=two.b"}, "get", "orders.42").want(t, 0, `by "flag"`)
	runWith(t, []string{"NATS_TIMEOUT=soon"}, "get", "orders.42").want(t, 2,
		`^holdfast: NATS_TIMEOUT: a duration such as 30s`)
	runWith(t, []string{"HOLDFAST_PREFIX=$x"}, "get", "orders.42").want(t, 2,
		`^holdfast: HOLDFAST_PREFIX: not beginning with`)
	runWith(t, []string{"HOLDFAST_OWNRE=me"}, "get", "orders.42").want(t, 2,
		`^holdfast: unknown setting HOLDFAST_OWNRE; did you mean HOLDFAST_OWNER\?`)
	// A variable that is named after a flag of another command is no misspelling.
	runWith(t, []string{"HOLDFAST_TTL=3s"}, "get", "orders.42", "--server", "nats://127.0.0.1:1", "--timeout",
		"100ms").want(t, 5, `^holdfast: no NATS server`)
	runWith(t, []string{"HOLDFAST_TTL=3s"}, "acquire", "orders.42").want(t, 2,
		`^holdfast: HOLDFAST_TTL has no effect: --ttl is given on the command line only`)
	runWith(t, []string{"HOLDFAST_OWNRE="}, "get", "orders.42", "--server", one.url).want(t, 0, `^held`)
	runWith(t, []string{"HOLDFAST_TOKEN=1", "HOLDFAST_TOKENS=1", "HOLDFAST_RESOURCE=a", "HOLDFAST_RESOURCES=a",
		"HOLDFAST_MAX_TTL=1h"},
		"get", "orders.42", "--server", one.url).want(t, 0, `^held`)
	runWith(t, []string{"HOLDFAST_OWNER="}, "acquire", "default", "--server", one.url).want(t, 0, `token 1`)
	one.holdfast(t, "get", "default").want(t, 0, `by ".+@.+", token 1`)
}

// A context of the nats command line says where the server is and how to log in; a flag goes before it.
func TestContextOfNATS(t *testing.T) {
	t.Parallel()
	p := serve(t)
	dir := t.TempDir()
	stand.Must(t, os.MkdirAll(filepath.Join(dir, "nats", "context"), 0o700))
	write(t, filepath.Join(dir, "nats", "context", "here.json"),
		`{"description":"a test","url":"`+p.url+`","user":"me","password":"x","inbox_prefix":"_INBOX.me"}`)
	write(t, filepath.Join(dir, "nats", "context", "gone.json"), `{"url":"nats://127.0.0.1:1"}`)
	write(t, filepath.Join(dir, "nats", "context", "nsc.json"), `{"url":"nats://127.0.0.1:1","nsc":"nsc://a/b/c"}`)
	config := "XDG_CONFIG_HOME=" + dir
	runWith(t, []string{config}, "get", "orders.42", "--context", "here").want(t, 0, `^free`)
	runWith(t, []string{config, "NATS_CONTEXT=here"}, "lock", "orders.42", "--", "echo", "done").wantBoth(t, 0,
		`^done\n$`, `^$`)
	runWith(t, []string{config, "NATS_CONTEXT=here"}, "ls").want(t, 0, `^no locks are held`)
	runWith(t, []string{config, "NATS_CONTEXT=gone"}, "get", "orders.42", "--server", p.url).want(t, 0, `^free`)
	runWith(t, []string{config}, "get", "orders.42", "--context", "gone", "--timeout", "100ms").want(t, 5,
		`no NATS server answers at nats://127\.0\.0\.1:1;`)
	runWith(t, []string{config}, "get", "orders.42", "--context", "nsc").want(t, 2,
		`--context: ".*nsc\.json" has nsc, which holdfast does not support`)
	for name, test := range map[string]struct{ text, says string }{
		"domain": {`"jetstream_domain":"hub"`, `has jetstream_domain, which holdfast does not support; `},
		"api":    {`"jetstream_api_prefix":"hub.api"`, `has jetstream_api_prefix, which holdfast does not support; `},
		"windows": {`"windows_ca_certs_match":["corp"]`,
			`has windows_ca_certs_match, which holdfast does not support; give files with --tls-cert`},
		"op": {`"creds":"op://vault/item"`,
			`has a creds of op://, which holdfast does not support; write it to a file`},
		"jwt": {`"user_jwt":"e30"`, `has one of user_jwt and user_seed; they belong together`},
		"inbox": {`"inbox_prefix":"a.>"`,
			`the context inbox, inbox_prefix: a subject without spaces and wildcards, as in _INBOX_alice, got "a\.>"`},
		"proxy": {`"socks_proxy":"socks5://here:1"`, `has socks_proxy, which holdfast does not support; `},
		"ca":    {`"ca":"missing.pem"`, `the context ca: cannot read "missing\.pem"`},
	} {
		write(t, filepath.Join(dir, "nats", "context", name+".json"), `{"url":"`+p.url+`",`+test.text+`}`)
		runWith(t, []string{config}, "get", "orders.42", "--context", name).want(t, 2, test.says)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if r := run(t, "version"); r.code != 0 || !strings.HasPrefix(r.stdout, "holdfast v0.0.0-test\ngo 1.") ||
		!strings.Contains(r.stdout, "\nnats-server 2.") {
		t.Errorf("version: %+v", r)
	}
	run(t, "--version").want(t, 0, `^holdfast v0\.0\.0-test$`)
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"help", "acquire"}, {"help", "exit-codes"},
		{"exit-codes"},
		{"help", "configuration"}, {"help", "connection"}, {"help", "serve-tls"}, {"help", "serve-limits"}, {"help", "watchdog"},
		{"serve", "--help"}, {"get", "-h"}, {"break", "--help"}, {"ls", "--help"}, {"help", "list"}} {
		if r := run(t, args...); r.code != 0 || r.stderr != "" || strings.Count(r.stdout, "\n") < 10 {
			t.Errorf("%q: %+v", args, r)
		} else if wide := strings.IndexFunc(r.stdout, func(c rune) bool { return c == '\t' }); wide >= 0 {
			t.Errorf("%q has a tab at %d", args, wide)
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	run(t, "demo", "--help").wantBoth(t, 0, `\nCommands:\n  fencing  +Show a late write`, `^$`)
	run(t, "members", "--help").wantBoth(t, 0, `\nCommands:\n  remove `, `^$`)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := run(t, "completion", shell); r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "holdfast") {
			t.Errorf("%s: exit code %d, %d bytes, stderr %q", shell, r.code, len(r.stdout), r.stderr)
		}
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"acq"}, "acquire\tAcquire a lock"},
		{[]string{"acquire", "--own"}, "--owner\t"},
		{[]string{"serve", "--log-level", "w"}, "warn"},
		{[]string{"completion", "f"}, "fish"},
		{[]string{"help", "exit"}, "exit-codes\t"},
	} {
		if r := run(t, append([]string{"__complete"}, test.args...)...); !strings.Contains(r.stdout, test.want) {
			t.Errorf("%q completes to %q, wanted %q", test.args, r.stdout, test.want)
		}
	}
}
