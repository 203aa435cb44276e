package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// fenceAgent starts an agent for all resources of a server and returns when it follows them. script is its command, in
// a directory of its own.
func (p *process) fenceAgent(t *testing.T, script string, flags ...string) *process {
	t.Helper()
	return p.fenceAgentIn(t, t.TempDir(), script, flags...)
}

func (p *process) fenceAgentIn(t *testing.T, dir, script string, flags ...string) *process {
	t.Helper()
	args := append([]string{"fence-agent", ">", "--server", p.url, "--retry", "10ms"}, flags...)
	a := newProcess(t, nil, append(args, "--", "sh", "-c", script)...)
	a.cmd.Dir = dir
	a.launch(t)
	a.log.WaitFor(t, a.done, "following the losses of >")
	return a
}

// lose has a lease lost whose resource is held back.
func (p *process) lose(t *testing.T, resource string, flags ...string) {
	t.Helper()
	p.holdfast(t, append([]string{"acquire", resource, "--ttl", "100ms", "--owner", "me"}, flags...)...).want(t, 0,
		`^acquired`)
}

// waitFree waits until a resource is neither held nor held back.
func (p *process) waitFree(t *testing.T, resource string) {
	t.Helper()
	stand.Eventually(t, resource+" is free", func() bool {
		return strings.HasPrefix(p.holdfast(t, "get", resource).stdout, "free: ")
	})
}

func (p *process) waitHeldBack(t *testing.T, resource string) {
	t.Helper()
	stand.Eventually(t, resource+" is held back", func() bool {
		return strings.HasPrefix(p.holdfast(t, "get", resource).stdout, "held back: ")
	})
}

func TestHeldBack(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.lose(t, "disk.7", "--confirm", "--metadata", "host=db1")
	p.waitHeldBack(t, "disk.7")
	said := `^held back: disk\.7 until the loss of "me", token 1, is confirmed, host="db1"$`
	p.holdfast(t, "get", "disk.7").want(t, 0, said)
	p.holdfast(t, "acquire", "disk.7", "--owner", "you").want(t, 3, said)
	p.holdfast(t, "acquire", "disk.7", "--owner", "me").want(t, 3, said)
	p.holdfast(t, "acquire", "disk.7", "--owner", "you", "--json").want(t, 3, `"status":"HELD_BACK"`)
	p.holdfast(t, "acquire", "disk.7", "--owner", "you", "--wait", "50ms").want(t, 3, `^timed out: `)
	p.under(t, "disk.7", "--try", "--", "true").wantBoth(t, 3, `^$`,
		`^holdfast: disk\.7 is held back until the loss of "me", token 1, is confirmed\n$`)
	p.holdfast(t, "extend", "disk.7", "--owner", "me").want(t, 4,
		`^expired: .* had expired; it has not been granted again$`)
	p.holdfast(t, "ls").want(t, 0, `^no locks are held$`)
	wantRows(t, p.holdfast(t, "ls", "--held-back"), `RESOURCE +OWNER +TOKEN +LEFT +WAITING`,
		`disk\.7 +me +1 +unconfirmed +0`)
	p.holdfast(t, "ls", "orders.*", "--held-back").want(t, 0, `^no resources that match orders\.\* are held back$`)
	p.holdfast(t, "confirm", "disk.7", "--token", "2").want(t, 4,
		`^stale token: no lost lease of disk\.7 has this token`)
	p.holdfast(t, "confirm", "disk.8", "--token", "1").want(t, 4, `^not held: disk\.8 is free, and not held back$`)
	p.holdfast(t, "confirm", "disk.7", "--token", "1", "--by", "ops", "--how", "switched off").want(t, 0,
		`^confirmed the end of the lease on disk\.7$`)
	p.holdfast(t, "confirm", "disk.7", "--token", "1").want(t, 0, `^confirmed`)
	p.holdfast(t, "get", "disk.7").want(t, 0, `^free: `)
	wantLines(t, p.holdfast(t, "history", "disk.7"),
		`acquired disk\.7 by "me", token 1, lease 100ms`,
		`expired +disk\.7 by "me", token 1, held \S+, held back`,
		`confirmed disk\.7 by "me", token 1, reason "ops: switched off"`)
}

func TestHeldBackForADelay(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "a", "--owner", "me", "--delay", "1h").want(t, 0, `token 1`)
	p.holdfast(t, "break", "a", "--token", "1").want(t, 0, `^broke`)
	p.holdfast(t, "get", "a").want(t, 0, `^held back: a for \S+ after the lease of "me", token 1$`)
	p.holdfast(t, "acquire", "a", "--owner", "you").want(t, 3, `^held back: `)
	p.holdfast(t, "acquire", "a", "--owner", "me").want(t, 0, `^acquired a: token 2`)
	p.lose(t, "b", "--delay", "100ms")
	p.waitFree(t, "b")
	p.under(t, "c", "--delay", "1h", "--", "true").wantBoth(t, 0, `^$`, `^$`)
	p.holdfast(t, "get", "c").want(t, 0, `^free: `) // it was released, not lost
}

// The command knows what was lost, and nothing of an outer command.
func TestFenceAgentTellsTheCommandWhatWasLost(t *testing.T) {
	t.Parallel()
	p := serve(t)
	dir := t.TempDir()
	a := newProcess(t, []string{"HOLDFAST_SLOTS=0", "HOLDFAST_METADATA_OUTER=1"}, "fence-agent", "*.7", "--server",
		p.url, "--by", "agent-1",
		"--", "sh", "-c", `env | grep ^HOLDFAST_ | sort > lost.tmp; mv lost.tmp "lost.$HOLDFAST_RESOURCE"`)
	a.cmd.Dir = dir
	a.launch(t)
	a.log.WaitFor(t, a.done, "following the losses of ")
	p.lose(t, "disk.8", "--confirm")
	p.lose(t, "disk.7", "--confirm", "--metadata", "host=db 1", "--metadata", "Host=x", "--metadata", "a b=\"c\"")
	p.waitFree(t, "disk.7")
	p.waitHeldBack(t, "disk.8")
	p.holdfast(t, "acquire", "a.7", "--owner", "you", "--delay", "1h").want(t, 0, `token 1`)
	p.holdfast(t, "break", "a.7", "--token", "1", "--reason", "it hangs").want(t, 0, `^broke`)
	p.waitFree(t, "a.7")
	p.acquireRaw(t, "b.7", `{"owner":"me","ttl_ms":100,"confirm":true,"tokens":100}`)
	p.waitFree(t, "b.7")
	for file, want := range map[string]string{
		"lost.disk.7": `HOLDFAST_FENCE=000000000000001
HOLDFAST_HOLDER=me
HOLDFAST_LOSS=expired
HOLDFAST_METADATA={"Host":"x","a b":"\"c\"","host":"db 1"}
HOLDFAST_METADATA_HOST=db 1
HOLDFAST_REASON=
HOLDFAST_RESOURCE=disk.7
HOLDFAST_TOKEN=000000000000001
`,
		"lost.a.7": `HOLDFAST_FENCE=000000000000001
HOLDFAST_HOLDER=you
HOLDFAST_LOSS=broken
HOLDFAST_METADATA={}
HOLDFAST_REASON=it hangs
HOLDFAST_RESOURCE=a.7
HOLDFAST_TOKEN=000000000000001
`,
		"lost.b.7": `HOLDFAST_FENCE=000000000000100
HOLDFAST_HOLDER=me
HOLDFAST_LOSS=expired
HOLDFAST_METADATA={}
HOLDFAST_REASON=
HOLDFAST_RESOURCE=b.7
HOLDFAST_TOKEN=000000000000001
`,
	} {
		if got := read(t, filepath.Join(dir, file)); got != want {
			t.Errorf("%s:\n%s\nwanted\n%s", file, got, want)
		}
	}
	if said := p.holdfast(t, "history", "disk.7").stdout; !strings.Contains(said, `reason "agent-1: the command of the fencing agent succeeded"`) {
		t.Errorf("history: %s", said)
	}
	a.signal(t, syscall.SIGTERM)
	a.wantExit(t, 0)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text := stand.Value(os.ReadFile(file))(t)
	return string(text)
}

// exists returns whether there is such a file.
func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// What is lost while no agent runs is found, and so is what one had begun that was killed.
func TestFenceAgentIsKilled(t *testing.T) {
	t.Parallel()
	p := serve(t)
	dir := t.TempDir()
	p.lose(t, "a", "--confirm")
	p.waitHeldBack(t, "a")
	first := p.fenceAgentIn(t, dir, `echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000`)
	stand.Eventually(t, "the command runs", func() bool { return exists(filepath.Join(dir, "pid")) })
	first.kill(t)
	pid := stand.Value(strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, "pid")))))(t)
	stand.Eventually(t, "the kernel has killed the command", func() bool { return strings.Contains("XZ", state(pid)) })
	p.lose(t, "b", "--confirm")
	p.waitHeldBack(t, "b")
	p.holdfast(t, "get", "a").want(t, 0, `^held back: `)
	p.fenceAgent(t, `true`)
	p.waitFree(t, "a")
	p.waitFree(t, "b")
}

func TestFenceAgentTriesAgain(t *testing.T) {
	for name, test := range map[string]struct{ script, says string }{
		"Failure": {`exit 9`, `the command exited with 9; next attempt in 10ms`},
		"Signal":  {`kill -9 $$`, `the command was ended by the signal "killed"; next attempt in 10ms`},
		// Its child is in the process group, so both are killed.
		"Timeout": {`sleep 1000 & echo $! > pid; wait`,
			`the command did not end within 300ms, and was killed; next attempt in 10ms`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t)
			dir := t.TempDir()
			a := p.fenceAgentIn(t, dir, `echo >> runs; if [ $(wc -l < runs) -lt 3 ]; then `+test.script+`; fi`,
				"--command-timeout", "300ms")
			p.lose(t, "a", "--confirm")
			p.waitFree(t, "a")
			a.log.WaitFor(t, a.done, "confirmed the loss of a by \"me\", token 1")
			said := a.log.String()
			if !strings.Contains(said, `a by "me", token 1: `+test.says) ||
				strings.Count(said, "next attempt in") != 2 {
				t.Errorf("it said\n%s", said)
			}
			if !strings.Contains(said, "next attempt in 20ms") {
				t.Errorf("the pause does not double:\n%s", said)
			}
			if n := strings.Count(read(t, filepath.Join(dir, "runs")), "\n"); n != 3 {
				t.Errorf("the command ran %d times, wanted 3", n)
			}
			if name != "Timeout" {
				return
			}
			pid := stand.Value(strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, "pid")))))(t)
			stand.Eventually(t, "the child has been killed", func() bool { return strings.Contains("XZ", state(pid)) })
		})
	}
}

// A confirmation by an operator ends the attempts: the next one would come in a minute.
func TestFenceAgentLeavesWhatIsConfirmed(t *testing.T) {
	t.Parallel()
	p := serve(t)
	a := p.fenceAgent(t, `test "$HOLDFAST_TOKEN" != 000000000000001`, "--retry", "1m", "-v")
	p.lose(t, "a", "--confirm")
	a.log.WaitFor(t, a.done, "the command exited with 1; next attempt in 1m")
	p.holdfast(t, "confirm", "a", "--token", "1").want(t, 0, `^confirmed`)
	a.log.WaitFor(t, a.done, `a by "me", token 1 holds nothing back any more`)
	p.lose(t, "a", "--confirm")
	a.log.WaitFor(t, a.done, `confirmed the loss of a by "me", token 2`)
	if n := strings.Count(a.log.String(), "running the command for a"); n != 2 {
		t.Errorf("%d runs, wanted 2:\n%s", n, a.log)
	}
}

func TestFenceAgentInParallel(t *testing.T) {
	t.Parallel()
	p := serve(t)
	for _, r := range []string{"a", "b", "c", "d"} {
		p.lose(t, r, "--confirm")
		p.waitHeldBack(t, r)
	}
	dir := t.TempDir()
	// A command fails the test by a file if another one runs at the same time.
	a := p.fenceAgentIn(t, dir, `mkdir running || touch overlap; sleep 0.05; rmdir running`, "--parallel", "1")
	for _, r := range []string{"a", "b", "c", "d"} {
		a.log.WaitFor(t, a.done, "confirmed the loss of "+r)
	}
	if exists(filepath.Join(dir, "overlap")) {
		t.Error("two commands ran at the same time")
	}
	a.signal(t, syscall.SIGINT)
	a.wantExit(t, 0)
	for _, r := range []string{"e", "f"} {
		p.lose(t, r, "--confirm")
		p.waitHeldBack(t, r)
	}
	// Each of two commands waits for the other.
	both := p.fenceAgent(t, `touch "$HOLDFAST_RESOURCE"; until test -e e && test -e f; do sleep 0.01; done`,
		"--parallel", "2")
	both.log.WaitFor(t, both.done, "confirmed the loss of e")
	both.log.WaitFor(t, both.done, "confirmed the loss of f")
}

// The agent goes on when its server is another one.
func TestFenceAgentOutlivesTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data", dir)
	a := first.fenceAgent(t, `test -e may`)
	first.lose(t, "a", "--confirm")
	a.log.WaitFor(t, a.done, "next attempt in")
	first.kill(t)
	write(t, filepath.Join(a.cmd.Dir, "may"), "")
	second := again(t, first, dir)
	second.waitFree(t, "a")
	second.lose(t, "b", "--confirm")
	second.waitFree(t, "b")
}

func TestFenceAgentStopsItsCommands(t *testing.T) {
	t.Parallel()
	p := serve(t)
	a := p.fenceAgent(t, `echo "child $$"; exec sleep 1000`)
	p.lose(t, "a", "--confirm")
	pid := childOf(t, a)
	a.signal(t, syscall.SIGTERM)
	a.wantExit(t, 0)
	if s := state(pid); !strings.Contains("XZ", s) {
		t.Errorf("the command is in the state %s", s)
	}
	p.holdfast(t, "get", "a").want(t, 0, `^held back: `)
}

// The permissions of the role are enough for a fencing agent, and each of them is needed.
func TestPermissionsOfAFencingAgent(t *testing.T) {
	t.Parallel()
	rights := rightsOf(t, "agent", "disk.>")
	without := func(subject string) string { return strings.Replace(rights, `"`+subject+`"`, `"x"`, 1) }
	file := stand.NATSConfig(t, `
		authorization { users: [
			{ user: node, password: secret }
			{ user: agent, password: pass, permissions: { `+rights+` } }
			{ user: blind, password: pass, permissions: { `+without("holdfast.list")+` } }
			{ user: deaf, password: pass, permissions: { `+without("$JS.API.STREAM.MSG.GET.KV_HOLDFAST_0")+` } }
			{ user: mute, password: pass, permissions: { `+
		strings.Replace(without("holdfast.confirm.disk.>"), "holdfast.shard.*.confirm.disk.>", "y", 1)+` } }
		] }`)
	p := serveWith(t, []string{"HOLDFAST_PASSWORD=secret"}, "--nats-config", file, "--user", "node", "--shards", "1")
	as := func(user string) []string {
		return []string{"NATS_USER=" + user, "NATS_PASSWORD=pass", "NATS_URL=" + p.url, "NATS_TIMEOUT=2s"}
	}
	agent := func(user string) *process {
		t.Helper()
		return startWith(t, as(user), "fence-agent", "disk.*", "--retry", "10ms", "--", "true")
	}
	for user, subject := range map[string]string{"blind": "holdfast.list",
		"deaf": "$JS.API.STREAM.MSG.GET.KV_HOLDFAST_0"} {
		a := agent(user)
		a.wantExit(t, 5)
		if said := a.log.String(); !strings.Contains(said, subject) {
			t.Errorf("without %s it said %q", subject, said)
		}
	}
	mute := agent("mute")
	mute.log.WaitFor(t, mute.done, "following the losses of")
	runWith(t, []string{"NATS_USER=node", "NATS_PASSWORD=secret", "NATS_URL=" + p.url}, "acquire", "disk.7", "--ttl",
		"100ms", "--confirm").want(t, 0, `token 1`)
	said := mute.log.WaitFor(t, mute.done, "next attempt in")
	if !strings.Contains(strings.ToLower(said), "permissions violation") {
		t.Errorf("without the confirmation it said %q", said)
	}
	mute.signal(t, syscall.SIGTERM)
	mute.wantExit(t, 0)
	whole := agent("agent")
	whole.log.WaitFor(t, whole.done, "confirmed the loss of disk.7")
	whole.signal(t, syscall.SIGTERM)
	whole.wantExit(t, 0)
}

// Each line is a mistake on the command line and what is said of it, before anything is asked.
func TestUsageOfTheFencingAgent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"fence-agent"}, 2, `name the pattern, as in: holdfast fence-agent 'disk\.\*' -- \./power-off`},
		{[]string{"fence-agent", "--", "true"}, 2, `name the pattern`},
		{[]string{"fence-agent", "a"}, 2, `put -- before the command`},
		{[]string{"fence-agent", "a", "true"}, 2, `put -- before the command`},
		{[]string{"fence-agent", "a", "--"}, 2, `name the command after --`},
		{[]string{"fence-agent", "a", "b", "--", "true"}, 2, `takes one pattern, got 2: "a", "b"`},
		{[]string{"fence-agent", "a*", "--", "true"}, 2, `the pattern: .*, got "a\*"`},
		{[]string{"fence-agent", "a", "--", "./missing"}, 127, `cannot run \./missing: no such file`},
		{[]string{"fence-agent", "a", "--", "/etc/passwd"}, 126, `cannot run /etc/passwd: permission denied`},
		{[]string{"fence-agent", "a", "--parallel", "0", "--", "true"}, 2, `--parallel: 1 to 1000, got "0"`},
		{[]string{"fence-agent", "a", "--command-timeout", "1ms", "--", "true"}, 2,
			`--command-timeout: 100ms to 24h, got "1ms"`},
		{[]string{"fence-agent", "a", "--retry", "2m", "--", "true"}, 2, `--retry: 10ms to 1m, got "2m"`},
		{[]string{"fence-agent", "a", "--by", strings.Repeat("a", 257), "--", "true"}, 2,
			`--by: at most 256 bytes, got 257 bytes`},
		{[]string{"confirm", "a"}, 2, `--token is required: .*holdfast get a$`},
		{[]string{"confirm", "--token", "1"}, 2, `name the resource, as in: holdfast confirm orders\.42`},
		{[]string{"confirm", "a", "--token", "1", "--by", "a\nb"}, 2, `--by: UTF-8 without control characters`},
		{[]string{"confirm", "a", "--token", "1", "--how", strings.Repeat("a", 513)}, 2,
			`--how: at most 512 bytes, got 513 bytes`},
		{[]string{"acquire", "a", "--delay", "2h"}, 2, `--delay: 0ms to 1h, got "2h"`},
		{[]string{"acquire", "a", "--confirm", "--ephemeral"}, 2, `--confirm and --ephemeral exclude each other: `},
		{[]string{"lock", "a", "--delay", "1s", "--ephemeral", "--", "true"}, 2,
			`--delay and --ephemeral exclude each other: `},
	} {
		run(t, test.args...).want(t, test.code, `^holdfast: .*`+test.says)
	}
}
