package main_test

import (
	"testing"
)

// A job that ends at once does not run a second time.
func TestLockForAShortestHold(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.under(t, "nightly", "--min-hold", "1h", "--", "echo", "ran").wantBoth(t, 0, `^ran\n$`, `^$`)
	p.under(t, "nightly", "--try", "--min-hold", "1h", "--", "echo", "ran").wantBoth(t, 3, `^$`, `nightly`)
	p.holdfast(t, "acquire", "nightly").want(t, 3, `nightly`)
	p.holdfast(t, "confirm", "nightly", "--token", "1").want(t, 0, `^confirmed`)
	p.holdfast(t, "acquire", "nightly", "--min-hold", "1h").want(t, 0, `^acquired nightly: token 2`)
	p.holdfast(t, "release", "nightly").want(t, 0, `^released`)
	p.holdfast(t, "acquire", "nightly").want(t, 3, `nightly`)
}

// A set of locks that cannot be had as a whole leaves no shortest hold behind.
func TestLockWithoutARest(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "b", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	p.under(t, "a", "b", "--wait", "100ms", "--min-hold", "1h", "--", "echo").wantBoth(t, 3, `^$`, `timed out`)
	p.holdfast(t, "get", "a").want(t, 0, `^free: a`)
}

// A job that hangs does not hold the lock for ever, although it is renewed.
func TestLockForALongestHold(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.under(t, "a", "--ttl", "3s", "--max-hold", "7s", "-c", `trap 'echo saved; exit 0' TERM; while :; do sleep 0.02; done`).
		wantBoth(t, 4, `^saved\n$`, `the longest hold of a is nearly over; the command gets SIGTERM`)
	p.under(t, "a", "--ttl", "10m", "--max-hold", "3s", "--on-lost", "kill", "--", "sleep", "600").
		wantBoth(t, 4, `^$`, `the command was killed`)
	p.under(t, "a", "--", "echo", "next").wantBoth(t, 0, `^next\n$`, `^$`)
}

// A command that can stop early learns that others wait, or were refused.
func TestLockYields(t *testing.T) {
	t.Parallel()
	p := serve(t)
	const yields = `trap 'echo got USR2; exit 7' USR2; echo ready; while :; do sleep 0.02; done`
	waited := p.startUnder(t, "a", "--ttl", "10m", "--yield", "USR2", "-c", yields)
	waited.out.WaitFor(t, waited.done, "ready")
	p.under(t, "a", "--wait", "1m", "--", "echo", "next").wantBoth(t, 0, `^next\n$`, `^$`)
	waited.wantExit(t, 7)

	several := p.startUnder(t, "b", "c", "--ttl", "10m", "-v", "--yield", "sigusr2", "-c", yields)
	several.out.WaitFor(t, several.done, "ready")
	p.under(t, "c", "--wait", "1m", "--", "echo", "next").wantBoth(t, 0, `^next\n$`, `^$`)
	several.wantExit(t, 7)
	several.log.WaitFor(t, several.done, "others want c: the command gets user defined signal 2")
}
