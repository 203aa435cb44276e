package main_test

import (
	"strings"
	"testing"
)

// Nobody gets a lock whose shortest hold is not over, also when its command has ended.
func TestLockHasAShortestHold(t *testing.T) {
	t.Parallel()
	p := serve(t)
	rests := `held back(: a)? for (1h|59m\S*) after the lease of `
	p.under(t, "a", "--min-hold", "1h", "--", "echo", "well").wantBoth(t, 0, `^well\n$`, `^$`)
	p.under(t, "a", "--try", "--min-hold", "1h", "--", "echo").wantBoth(t, 3, `^$`, rests)
	p.holdfast(t, "acquire", "a", "--owner", "me").want(t, 3, rests)
	p.holdfast(t, "confirm", "a", "--token", "1").want(t, 0, `^confirmed`)
	p.holdfast(t, "acquire", "a", "--owner", "me", "--min-hold", "1h").want(t, 0, `^acquired a: token 2, lease 30s$`)
	p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, `^released a$`)
	p.holdfast(t, "get", "a").want(t, 0, rests)
}

// A set that is not complete leaves nothing behind.
func TestLockGivesUpWithoutARest(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "b", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	p.under(t, "a", "b", "--wait", "100ms", "--min-hold", "1h", "--", "echo").wantBoth(t, 3, `^$`, `timed out`)
	p.holdfast(t, "get", "a").want(t, 0, `^free: a`)
}

// A command that has had the lock for its longest hold is ended as after a loss.
func TestLockHasALongestHold(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.under(t, "a", "--ttl", "1s", "--max-hold", "1500ms", "--", "sh", "-c", "trap 'echo ended; exit 0' TERM; "+loop).
		wantBoth(t, 4, `^ready\nended\n$`, `the longest hold of a is over; the command gets SIGTERM`)
	p.holdfast(t, "acquire", "a", "--owner", "me", "--wait", "10s").want(t, 0, `^acquired a: token 2`)
}

// loop is a shell that waits for signals.
const loop = "echo ready; while :; do sleep 0.02; done"

// The command gets the signal of --yield once others want the lock, and its exit code counts.
func TestLockYields(t *testing.T) {
	t.Parallel()
	p := serve(t)
	for name, args := range map[string][]string{"one": {"a"}, "several": {"b", "c", "a2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holder := p.startUnder(t, append(args, "-v", "--yield", "USR1", "--", "sh", "-c",
				"trap 'echo yields; exit 9' USR1; "+loop)...)
			holder.out.WaitFor(t, holder.done, "ready")
			p.holdfast(t, "acquire", args[len(args)-1], "--owner", "me", "--wait", "20s").want(t, 0, `^acquired`)
			holder.wantExit(t, 9)
			if said := holder.out.String(); said != "ready\nyields\n" {
				t.Errorf("the command said %q", said)
			}
			if said := holder.log.String(); !strings.Contains(said, "others want the lock; the command gets SIGUSR1") {
				t.Errorf("the log has %q", said)
			}
		})
	}
}

func TestHoldUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--min-hold", "61m"}, `--min-hold: 0ms to 1h, got "61m"`},
		{[]string{"--min-hold", "1m", "--shared"}, `--min-hold and --shared or --limit exclude each other: `},
		{[]string{"--min-hold", "1m", "--limit", "2"}, `--min-hold and --shared or --limit exclude each other: `},
		{[]string{"--min-hold", "1m", "--ephemeral"}, `--min-hold and --ephemeral exclude each other: `},
	} {
		run(t, append([]string{"acquire", "a"}, test.args...)...).want(t, 2, `^holdfast: .*`+test.says)
		run(t, append(append([]string{"lock", "a"}, test.args...), "--", "make")...).want(t, 2, `^holdfast: .*`+test.says)
	}
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--max-hold", "99ms"}, `--max-hold: 100ms to 8760h, got "99ms"`},
		{[]string{"--max-hold", "10s", "--grace", "6s"}, `--grace: at most half of --max-hold, which is 10s, got "6s"`},
		{[]string{"--yield", "KILL"}, `--yield: the name of a signal that the command can handle, such as USR1 or TERM, got "KILL"`},
		{[]string{"--yield", "now"}, `--yield: the name of a signal`},
	} {
		run(t, append(append([]string{"lock", "a"}, test.args...), "--", "make")...).want(t, 2, `^holdfast: .*`+test.says)
	}
}
