package main_test

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// startElect runs a command as the leader, while the test does other things.
func (p *process) startElect(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, append([]string{"elect", "--server", p.url}, args...)...)
}

// untilShown waits until the process has written these lines.
func (p *process) untilShown(t *testing.T, lines ...string) {
	t.Helper()
	want := strings.Join(lines, "\n") + "\n"
	stand.Eventually(t, "it shows "+want, func() bool { return p.out.String() == want })
}

// One candidate leads after the other; leader shows who, once and with all changes.
func TestElect(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "leader", "scheduler").wantBoth(t, 4, `^scheduler has no leader\n$`, `^$`)
	p.holdfast(t, "leader", "scheduler", "--json").wantBoth(t, 4, `^\{"name":"scheduler"\}\n$`, `^$`)
	watch := start(t, "leader", "scheduler", "--watch", "--server", p.url)
	watch.untilShown(t, "scheduler has no leader")

	first := p.startElect(t, "scheduler", "--value", "10.0.0.7:8080", "--owner", "one", "-c",
		`echo "$HOLDFAST_TOKEN $HOLDFAST_RESOURCE"; exec sleep 600`)
	first.untilShown(t, "000000000000001 scheduler")
	p.holdfast(t, "leader", "scheduler").wantBoth(t, 0, `^"10\.0\.0\.7:8080": "one" leads scheduler, token 1\n$`, `^$`)
	p.holdfast(t, "leader", "scheduler", "--json").
		wantBoth(t, 0, `^\{"name":"scheduler","owner":"one","value":"10\.0\.0\.7:8080","token":"1"\}\n$`, `^$`)
	run(t, "elect", "--server", p.url, "scheduler", "--try", "--", "true").wantBoth(t, 3, `^$`,
		`held: scheduler by "one", token 1`)

	second := p.startElect(t, "scheduler", "--owner", "two", "--", "sh", "-c", "echo leads; exit 7")
	stand.Eventually(t, "the second waits", func() bool {
		return strings.Contains(p.holdfast(t, "get", "scheduler").stdout, "1 waiting")
	})
	p.holdfast(t, "break", "scheduler", "--token", "1").want(t, 0, `^broke`)
	first.wantExit(t, 4)
	second.wantExit(t, 7)
	watch.untilShown(t,
		`scheduler has no leader`,
		`"10.0.0.7:8080": "one" leads scheduler, token 1`,
		`scheduler has no leader`,
		`"two": "two" leads scheduler, token 2`,
		`scheduler has no leader`)
}

// A candidate that was killed is followed long before its lease would expire.
func TestElectAfterAKill(t *testing.T) {
	t.Parallel()
	p := serve(t)
	elect := func(owner, command string) *process {
		return p.startElect(t, "scheduler", "--owner", owner, "--ttl", "1h", "--disconnect", "5s", "-c", command)
	}
	first := elect("one", "echo leads; exec sleep 600")
	first.untilShown(t, "leads")
	stand.Eventually(t, "the lease is in a session", func() bool {
		return strings.Contains(p.holdfast(t, "get", "scheduler", "--json").stdout, `"session":`)
	})
	second := elect("two", "echo leads")
	stand.Eventually(t, "the second waits", func() bool {
		return strings.Contains(p.holdfast(t, "get", "scheduler").stdout, "1 waiting")
	})
	first.kill(t)
	second.wantExit(t, 0)
	run(t, "elect", "--server", p.url, "a", "--disconnect", "4s", "--", "true").wantBoth(t, 2, `^$`,
		`--disconnect: 5s to 24h`)
}

func TestElectRefuses(t *testing.T) {
	t.Parallel()
	p := serve(t)
	for want, args := range map[string][]string{
		`elect takes one name, got 2: "a", "b"`: {"elect", "a", "b", "--", "true"},
		`name the resource`:                     {"elect", "--", "true"},
		`put -- before the command`:             {"elect", "a"},
		`elect has no flag --shared`:            {"elect", "a", "--shared", "--", "true"},
		`metadata: at most 1024 bytes`:          {"elect", "a", "--value", strings.Repeat("x", 1024), "--", "true"},
		`holdfast leader orders.42`:             {"leader"},
	} {
		r := run(t, append(args[:1:1], append([]string{"--server", p.url}, args[1:]...)...)...)
		if r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: exit code %d, %q, want %q", args, r.code, r.stderr, want)
		}
	}
}
