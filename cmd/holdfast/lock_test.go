package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// under runs a command under locks of this server.
func (p *process) under(t *testing.T, args ...string) result {
	t.Helper()
	return run(t, append([]string{"lock", "--server", p.url}, args...)...)
}

// startUnder is [process.under] for a command that goes on while the test does other things.
func (p *process) startUnder(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, append([]string{"lock", "--server", p.url}, args...)...)
}

// wantBoth fails the test unless the command has exited so and has written this; patterns on both streams.
func (r result) wantBoth(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code || !regexp.MustCompile(stdout).MatchString(r.stdout) ||
		!regexp.MustCompile(stderr).MatchString(r.stderr) {
		t.Errorf("holdfast %q: exit code %d, wanted %d\nstdout: %q, wanted /%s/\nstderr: %q, wanted /%s/",
			r.args, r.code, code, r.stdout, stdout, r.stderr, stderr)
	}
}

// wantExit fails the test unless the process ends with this code.
func (p *process) wantExit(t *testing.T, code int) {
	t.Helper()
	if state := p.wait(t); state.ExitCode() != code {
		t.Errorf("%v, wanted exit code %d; it said %q and %q", state, code, p.out, p.log)
	}
}

// numbers returns the numbers that stand in a file, each on a line of its own; the last may be half one.
func numbers(t *testing.T, file string) []time.Duration {
	t.Helper()
	text := stand.Value(os.ReadFile(file))(t)
	var all []time.Duration
	for line := range strings.Lines(string(text)) {
		var n int64
		if _, err := fmt.Sscanf(line, "%d\n", &n); err == nil {
			all = append(all, time.Duration(n))
		}
	}
	return all
}

func TestLockExitsAsItsCommand(t *testing.T) {
	t.Parallel()
	p := serve(t)
	held := p.holdfast(t, "acquire", "held", "--owner", "me", "--ttl", "10m")
	held.want(t, 0, `token 1`)
	garbage := filepath.Join(t.TempDir(), "garbage")
	stand.Must(t, os.WriteFile(garbage, []byte("\x00\x01"), 0o700))
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"Done":      {[]string{"a", "--", "echo", "well", "--try"}, 0, `^well --try\n$`, `^$`},
		"Failed":    {[]string{"a", "--", "sh", "-c", "exit 7"}, 7, `^$`, `^$`},
		"Signalled": {[]string{"a", "--", "sh", "-c", "kill -TERM $$"}, 128 + 15, `^$`, `^$`},
		"Killed":    {[]string{"a", "--", "sh", "-c", "kill -KILL $$"}, 128 + 9, `^$`, `^$`},
		"Shell":     {[]string{"a", "-c", "echo a | tr a b; exit 3"}, 3, `^b\n$`, `^$`},
		"NotFound": {[]string{"a", "--", "no-such-command"}, 127, `^$`,
			`^holdfast: cannot run no-such-command: executable file not found`},
		"NoSuchFile": {[]string{"a", "--", "./no-such-file"}, 127, `^$`,
			`^holdfast: cannot run \./no-such-file: no such file or directory\n$`},
		"NotExecutable": {[]string{"a", "--", "/etc/passwd"}, 126, `^$`,
			`^holdfast: cannot run /etc/passwd: permission denied\n$`},
		"Garbage": {[]string{"a", "--", garbage}, 126, `^$`, `^holdfast: cannot run .*: exec format error\n$`},
		"Busy": {[]string{"held", "--try", "--", "echo"}, 3, `^$`,
			`^holdfast: held: held by "me", token 1, \S+ left\n$`},
		"BusyAfterAWait": {[]string{"held", "--wait", "100ms", "--", "echo"}, 3, `^$`,
			`^holdfast: timed out: held did not become free in time\n$`},
		"BusyCode": {[]string{"held", "--try", "--busy-code", "0", "--", "echo"}, 0, `^$`, `^holdfast: held: `},
		"Quiet":    {[]string{"held", "--try", "--busy-code", "0", "--quiet", "--", "echo"}, 0, `^$`, `^$`},
		"NobodyThere": {[]string{"a", "--prefix", "other", "--timeout", "1s", "--", "echo"}, 5, `^$`,
			`^holdfast: .*no node of Holdfast answers`},
		"UnavailableCode": {[]string{"a", "--prefix", "other", "--timeout", "1s", "--unavailable-code", "75", "--",
			"echo"}, 75, `^$`, `no node of Holdfast`},
		"Verbose": {[]string{"verbose", "-v", "--", "echo", "well"}, 0, `^well\n$`,
			`^holdfast: acquired verbose: token 1\nholdfast: released verbose\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.under(t, test.args...).wantBoth(t, test.code, test.stdout, test.stderr)
		})
	}
	t.Run("NoServer", func(t *testing.T) {
		t.Parallel()
		run(t, "lock", "a", "-s", "nats://127.0.0.1:1", "--timeout", "100ms", "--", "echo").wantBoth(t, 5, `^$`,
			`^holdfast: no NATS server answers at`)
		run(t, "lock", "a", "-s", "nats://127.0.0.1:1", "--timeout", "100ms", "--unavailable-code", "75", "--",
			"echo").wantBoth(t, 75, `^$`, `no NATS server`)
	})
}

// Each line is a mistake, after which nothing has been asked of anybody.
func TestLockUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{}, `name the resource, as in: holdfast lock orders\.42 -- make report$`},
		{[]string{"--", "make"}, `name the resource, as in: `},
		{[]string{"a"}, `put -- before the command, as in: `},
		{[]string{"a", "make"}, `put -- before the command, as in: `},
		{[]string{"a", "--"}, `name the command after --, as in: `},
		{[]string{"a", "--tty", "--", "make"}, `holdfast lock has no flag --tty; did you mean --try\?`},
		{[]string{"a\n", "--", "make"}, `resource: `},
		{[]string{"", "--", "make"}, `resource: `},
		{[]string{"a", "--ttl", "1ms", "--", "make"}, `--ttl: 100ms to 24h, got "1ms"`},
		{[]string{"a", "--grace", "16s", "--", "make"}, `--grace: at most half of --ttl, which is 30s, got "16s"`},
		{[]string{"a", "--grace", "1s", "--ttl", "1s", "--", "make"}, `--grace: at most half of --ttl`},
		{[]string{"a", "--wait", "-1s", "--", "make"}, `--wait: 0ms to 8760h, got "-1s"`},
		{[]string{"a", "--try", "--wait", "1s", "--", "make"}, `--try and --wait exclude each other: `},
		{[]string{"a", "--shell", "make", "--", "make"}, `--shell and a command after -- exclude each other: `},
		{[]string{"a", "--on-lost", "panic", "--", "make"}, `--on-lost: term, kill or ignore, got "panic"`},
		{[]string{"a", "--yield", "KILL", "--", "make"},
			`--yield: the name of a signal that a command can handle, such as USR1 or TERM, got "KILL"`},
		{[]string{"a", "--yield", "12", "--", "make"}, `--yield: the name of a signal`},
		{[]string{"a", "--min-hold", "2h", "--", "make"}, `--min-hold: 0ms to 1h, got "2h"`},
		{[]string{"a", "--min-hold", "1m", "--shared", "--", "make"}, `--min-hold and --shared or --limit exclude each other: `},
		{[]string{"a", "--min-hold", "1m", "--ephemeral", "--", "make"}, `--min-hold and --ephemeral exclude each other: `},
		{[]string{"a", "--max-hold", "0s", "--", "make"}, `--max-hold: 100ms to 8760h, got "0s"`},
		{[]string{"a", "--max-hold", "1s", "--grace", "600ms", "--", "make"}, `--grace: at most half of --max-hold`},
		{[]string{"a", "--busy-code", "256", "--", "make"}, `--busy-code: 0 to 255, got "256"`},
		{[]string{"a", "--owner", "", "--", "make"}, `--owner must not be empty`},
		{[]string{"a", "--owner", strings.Repeat("x", 300), "--", "make"}, `--owner: `},
		{[]string{"a", "--metadata", "x", "--", "make"}, `--metadata: KEY=VALUE, got "x"`},
	} {
		run(t, append([]string{"lock"}, test.args...)...).want(t, 2, `^holdfast: .*`+test.says)
	}
}

func TestLockTellsItsCommandTheToken(t *testing.T) {
	t.Parallel()
	p := serve(t)
	const show = `echo "resource=$HOLDFAST_RESOURCE token=$HOLDFAST_TOKEN"; echo "$HOLDFAST_RESOURCES"; echo "$HOLDFAST_TOKENS"`
	p.holdfast(t, "acquire", "b", "--owner", "me").want(t, 0, `token 1`)
	p.holdfast(t, "release", "b", "--owner", "me").want(t, 0, `released`)
	p.under(t, "b", "-c", show).
		wantBoth(t, 0, `^resource=b token=000000000000002\nb\n000000000000002\n$`, `^$`)
	// Both spellings of é are one resource, and a resource that is named twice is taken once.
	p.under(t, "b", "caf\u00e9 au lait", "a", "cafe\u0301 au lait", "b", "-c", show).
		wantBoth(t, 0, "^resource= token=\na\nb\ncaf\u00e9 au lait\n0{14}1\n0{14}3\n0{14}1\n$", `^$`)
	// Of nested locks the command finds the inner one, and nothing of the outer.
	p.under(t, "a", "--", stand.Binary(t), "lock", "--server", p.url, "c", "d", "-c", show).
		wantBoth(t, 0, `^resource= token=\nc\nd\n0{14}1\n0{14}1\n$`, `^$`)
	p.under(t, "a", "--", stand.Binary(t), "lock", "--server", p.url, "c", "-c", show).wantBoth(t, 0,
		`^resource=c token=0{14}2\nc\n`, `^$`)
	for _, name := range []string{"a", "b", "c", "d"} {
		p.holdfast(t, "get", name).want(t, 0, `^free: `)
	}
}

func TestLockIsHeldWhileItsCommandRuns(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.under(t, "a", "--owner", "me", "--metadata", "job=nightly", "--ephemeral", "--", stand.Binary(t), "get", "a",
		"--server", p.url).
		wantBoth(t, 0, `^held: a by "me", token 1, \S+ left, ephemeral, job="nightly"\n$`, `^$`)
	p.under(t, "a", "--", stand.Binary(t), "get", "a", "--server", p.url).wantBoth(t, 0,
		`^held: a by ".+@.+:\d+", token 2, `, `^$`)
	p.under(t, "a", "--", stand.Binary(t), "lock", "a", "--try", "--server", p.url, "--", "true").wantBoth(t, 3, `^$`,
		`^holdfast: held: a by `)
	p.holdfast(t, "get", "a").want(t, 0, `^free: a, last token 3$`)
	// Renewed, it outlives its TTL by far: until then nobody else gets it.
	holder := p.startUnder(t, "a", "--ttl", "2s", "-c", "echo ready; while ! test -e stop; do sleep 0.05; done")
	holder.out.WaitFor(t, holder.done, "ready")
	p.under(t, "a", "--wait", "6s", "--", "true").wantBoth(t, 3, `^$`, `timed out`)
	write(t, filepath.Join(holder.cmd.Dir, "stop"), "")
	holder.wantExit(t, 0)
}

func TestLockPassesStandardInputThrough(t *testing.T) {
	t.Parallel()
	p := serve(t)
	text := strings.Repeat("all of it\n", 100_000)
	cmd := exec.CommandContext(t.Context(), stand.Binary(t), "lock", "a", "--server", p.url, "--", "cat")
	cmd.Env, cmd.Stdin = env(nil), strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil || !bytes.Equal(out, []byte(text)) {
		t.Errorf("%v, %d bytes of %d", err, len(out), len(text))
	}
}

// Two that name the same locks in opposite order would wait for each other, if they took them so.
func TestLockExcludes(t *testing.T) {
	t.Parallel()
	p := serve(t)
	file := filepath.Join(t.TempDir(), "count")
	write(t, file, "0\n")
	orders := [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}, {"a"}, {"a"}, {"a"}, {"a"}, {"a"}, {"a"},
		{"a"}}
	const times = 15
	var all sync.WaitGroup
	for _, names := range orders {
		all.Go(func() {
			for range times {
				p.under(t, append(names, "--", "sh", "-c", `n=$(cat "$1"); echo $((n+1)) > "$1"`, "sh",
					file)...).wantBoth(t, 0, `^$`, `^$`)
			}
		})
	}
	all.Wait()
	if got := numbers(t, file); len(got) != 1 || int(got[0]) != len(orders)*times {
		t.Errorf("counted %d, wanted %d", got, len(orders)*times)
	}
}

func TestLocksAllOrNone(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "b", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	p.under(t, "c", "b", "a", "--try", "--", "echo").wantBoth(t, 3, `^$`, `^holdfast: held: b by "me"`)
	p.under(t, "c", "b", "a", "--wait", "50ms", "--", "echo").wantBoth(t, 3, `^$`, `^holdfast: timed out: b `)
	p.under(t, "a", "b", "--try", "--busy-code", "0", "--", "echo").wantBoth(t, 0, `^$`, `^holdfast: held: b by "me"`)
	p.holdfast(t, "get", "a").want(t, 0, `^free: a, `)
	p.holdfast(t, "get", "c").want(t, 0, `^free: c, `)
}

// A lock that is lost while the next one is waited for is one lock too few.
func TestLockLostWhileWaitingForTheNext(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "b", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	waiting := p.startUnder(t, "a", "b", "--ttl", "3s", "--", "echo")
	p.waitForQueue(t, "b", 1)
	p.breakLock(t, "a")
	waiting.wantExit(t, 4)
	if said := waiting.log.String(); waiting.out.String() != "" || !strings.Contains(said, "lock lost") ||
		!strings.Contains(said, "the command was not run") {
		t.Errorf("said %q and %q", waiting.out, said)
	}
	p.waitForQueue(t, "b", 0)
}

// breakLock breaks the lock of its holder.
func (p *process) breakLock(t *testing.T, resource string) {
	t.Helper()
	held := p.holdfast(t, "get", resource).want(t, 0, `^held: `)
	token := regexp.MustCompile(`token (\d+)`).FindStringSubmatch(held.stdout)
	p.holdfast(t, "break", resource, "--token", token[1]).want(t, 0, `^broke`)
}

// waitForQueue waits until so many wait for the resource.
func (p *process) waitForQueue(t *testing.T, resource string, n int) {
	t.Helper()
	stand.Eventually(t, fmt.Sprintf("%d wait for %s", n, resource), func() bool {
		said := p.holdfast(t, "get", resource).stdout
		if n == 0 {
			return said != "" && !strings.Contains(said, "waiting")
		}
		return strings.Contains(said, fmt.Sprintf("%d waiting", n))
	})
}

func TestInterruptedWaitForALock(t *testing.T) {
	for name, s := range map[string]syscall.Signal{"CtrlC": syscall.SIGINT, "Term": syscall.SIGTERM,
		"HangUp": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t)
			p.holdfast(t, "acquire", "b", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
			waiting := p.startUnder(t, "a", "b", "--", "echo")
			p.waitForQueue(t, "b", 1)
			waiting.signal(t, s)
			waiting.wantExit(t, 128+int(s))
			if !strings.Contains(waiting.log.String(), "while waiting for b; the command was not run") {
				t.Errorf("said %q", waiting.log)
			}
			p.holdfast(t, "get", "a").want(t, 0, `^free: `)
			p.waitForQueue(t, "b", 0)
		})
	}
}
