package main_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// wantLines fails the test unless the command has exited so and its lines match the patterns one by one.
func (r result) wantLines(t *testing.T, code int, patterns ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	if r.code != code || r.stderr != "" || len(lines) != len(patterns) {
		t.Fatalf("%q: exit code %d, wanted %d; %d lines, wanted %d\nstdout: %s\nstderr: %s", r.args, r.code, code,
			len(lines), len(patterns), r.stdout, r.stderr)
	}
	for i, pattern := range patterns {
		if !regexp.MustCompile("^" + pattern + "$").MatchString(lines[i]) {
			t.Errorf("%q: line %d is %q, wanted /%s/", r.args, i+1, lines[i], pattern)
		}
	}
}

// waitsFor makes a request wait until it is granted, or the test has ended.
func (p *process) waitsFor(t *testing.T, owner, resource string, terms ...string) *process {
	t.Helper()
	waiting := start(t, append([]string{"acquire", resource, "--owner", owner, "--ttl", "10m", "--wait", "10m",
		"--server", p.url}, terms...)...)
	stand.Eventually(t, owner+" waits for "+resource, func() bool {
		return strings.Contains(p.holdfast(t, "get", resource, "--waiters").stdout, `waits: "`+owner+`"`)
	})
	return waiting
}

func TestSharedLocks(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "catalog", "--owner", "r1", "--shared", "--ttl", "10m").
		want(t, 0, `^acquired catalog: token 1, fence 1, shared, slot 0, lease 10m$`)
	p.holdfast(t, "acquire", "catalog", "--owner", "r2", "--shared", "--ttl", "10m", "--metadata", "job=nightly").
		want(t, 0, `^acquired catalog: token 2, fence 1, shared, slot 1, lease 10m$`)
	p.holdfast(t, "acquire", "catalog", "--owner", "w").
		want(t, 3, `^held: catalog by "r1", token 1, fence 1, shared, slot 0, 9m\S+ left, and 1 more$`)
	writer := p.waitsFor(t, "w", "catalog")
	p.holdfast(t, "get", "catalog").wantLines(t, 0,
		`held: catalog, 2 permits, 1 waiting`,
		`  held by "r1", token 1, fence 1, shared, slot 0, 9m\S+ left`,
		`  held by "r2", token 2, fence 1, shared, slot 1, 9m\S+ left, job="nightly"`)
	p.holdfast(t, "get", "catalog", "--waiters").wantLines(t, 0,
		`held: .*`, `  held by "r1".*`, `  held by "r2".*`,
		`  waits: "w", exclusive, for \S+, 9m\S+ left`)
	var reply messages.Reply
	r := p.holdfast(t, "get", "catalog", "--waiters", "--json").want(t, 0,
		`"fence":"000000000000001".*"waiters":\[\{"owner":"w","permits":1,`)
	if err := messages.DecodeReply(messages.JSON, []byte(r.stdout), &reply); err != nil || len(reply.GetHolders()) != 2 || reply.GetHeld() != 2 {
		t.Errorf("%v: %v", err, &reply)
	}
	p.holdfast(t, "extend", "catalog", "--owner", "r2", "--ttl", "20m").want(t, 0,
		`^extended catalog: token 2, fence 1, shared, slot 1, lease 20m$`)
	p.holdfast(t, "release", "catalog", "--owner", "r1").want(t, 0, `^released catalog$`)
	p.holdfast(t, "release", "catalog", "--owner", "r2").want(t, 0, `^released catalog$`)
	writer.out.WaitFor(t, writer.done, "acquired catalog: token 3, lease 10m")
	p.waitsFor(t, "r1", "catalog", "--shared")
	p.holdfast(t, "get", "catalog", "--waiters").wantLines(t, 0,
		`held: catalog by "w", token 3, 9m\S+ left, 1 waiting`,
		`  waits: "r1", shared, for \S+, 9m\S+ left`)
}

func TestSemaphore(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "gpu", "--owner", "a", "--limit", "4", "--permits", "2", "--ttl", "10m").
		want(t, 0, `^acquired gpu: token 1, fence 1, 2 of 4, slots 0-1, lease 10m$`)
	p.holdfast(t, "acquire", "gpu", "--owner", "b", "--limit", "4", "--ttl", "10m").
		want(t, 0, `^acquired gpu: token 2, fence 1, 1 of 4, slot 2, lease 10m$`)
	p.holdfast(t, "acquire", "gpu", "--owner", "c", "--limit", "4", "--permits", "2").want(t, 3,
		`^held: gpu by "a", .*, and 1 more$`)
	p.holdfast(t, "acquire", "gpu", "--owner", "c", "--limit", "3").want(t, 3, `^held: `)
	r := p.holdfast(t, "acquire", "gpu", "--owner", "c", "--limit", "4", "--json").want(t, 0,
		`"token":"3","fence":"000000000000001".*"limit":4,"slots":\[3\]`)
	if strings.Contains(r.stdout, "holders") {
		t.Errorf("a grant with holders: %s", r.stdout)
	}
	p.holdfast(t, "break", "gpu", "--token", "2").want(t, 0, `^broke the lock on gpu$`)
	p.holdfast(t, "acquire", "gpu", "--owner", "d", "--limit", "4", "--ttl", "10m").want(t, 0,
		`token 4, fence 1, 1 of 4, slot 2,`)
}

func TestListOfSharedLocks(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "3")
	p.holdfast(t, "acquire", "a", "--owner", "x", "--ttl", "10m").want(t, 0, `token 1`)
	wantRows(t, p.holdfast(t, "ls"), titles, `a x 1 9m\S+ 0`)
	p.holdfast(t, "acquire", "b", "--owner", "r1", "--shared", "--ttl", "10m").want(t, 0, `token 1`)
	p.holdfast(t, "acquire", "b", "--owner", "r2", "--limit", "5", "--permits", "2", "--ttl", "10m").want(t, 0,
		`token 2`)
	p.waitsFor(t, "w", "b")
	p.waitsFor(t, "r3", "b", "--shared")
	p.waitsFor(t, "y", "a")
	wantRows(t, p.holdfast(t, "ls"), "RESOURCE OWNER KIND SLOTS TOKEN LEFT WAITING",
		`a x exclusive 1 9m\S+ 1`,
		`b r1 shared 0 1 9m\S+ 2`,
		`b r2 2 of 5 1-2 2 9m\S+ 2`)
	wantRows(t, p.holdfast(t, "ls", "--waiters"), "RESOURCE OWNER KIND SLOTS TOKEN WAITED LEFT WAITING",
		`a x exclusive 1 9m\S+ 1`,
		`waits y exclusive \S+s 9m\S+`,
		`b r1 shared 0 1 9m\S+ 2`,
		`b r2 2 of 5 1-2 2 9m\S+ 2`,
		`waits w exclusive \S+s 9m\S+`,
		`waits r3 shared \S+s 9m\S+`)
	wantRows(t, p.holdfast(t, "ls", "a", "--waiters"), "RESOURCE OWNER KIND TOKEN WAITED LEFT WAITING",
		`a x exclusive 1 9m\S+ 1`, `waits y exclusive \S+s 9m\S+`)
	p.holdfast(t, "ls", "b", "--waiters", "--json").wantLines(t, 0,
		`\{"resource":"b","owner":"r1",.*"limit":4294967295,"slots":\[0\]\}`,
		`\{"resource":"b","owner":"r2",.*"limit":5,"slots":\[1,2\]\}`,
		`\{"resource":"b","waiters":\[\{"owner":"w",.*\},\{"owner":"r3",.*\}\],"waiting":2,"oldest_ms":\d+\}`)
	wantRows(t, p.holdfast(t, "ls", "--by", "queue"), "RESOURCE WAITING OLDEST OWNER KIND SLOTS TOKEN LEFT",
		`b 2 \S+s r1 shared 0 1 9m\S+`, `a 1 \S+s x exclusive 1 9m\S+`)
	wantRows(t, p.holdfast(t, "ls", "--by", "wait", "--limit", "1", "--waiters"),
		"RESOURCE OLDEST WAITING OWNER KIND SLOTS TOKEN WAITED LEFT", `b \S+s 2 r1 shared 0 1 9m\S+`,
		`waits w exclusive \S+s 9m\S+`, `waits r3 shared \S+s 9m\S+`)
	wantRows(t, p.holdfast(t, "ls", "--by", "hold", "--limit", "2"),
		"RESOURCE HELD OWNER KIND SLOTS TOKEN LEFT WAITING", `a \S+s x exclusive 1 9m\S+ 1`,
		`b \S+s r1 shared 0 1 9m\S+ 2`)
}

func TestDeadlocks(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "3")
	p.holdfast(t, "deadlocks").want(t, 0, `^no deadlocks$`)
	p.holdfast(t, "deadlocks", "--json").wantNothing(t)
	for owner, resource := range map[string]string{"a": "x", "b": "y", "c": "z"} {
		p.holdfast(t, "acquire", resource, "--owner", owner, "--ttl", "10m").want(t, 0, `token 1`)
	}
	p.waitsFor(t, "a", "y")
	p.waitsFor(t, "b", "z", "--shared")
	p.waitsFor(t, "d", "x")
	p.holdfast(t, "deadlocks").want(t, 0, `^no deadlocks$`)
	last := p.waitsFor(t, "c", "x")
	p.holdfast(t, "deadlocks").wantLines(t, 3,
		`deadlock:`,
		`  "a" waits for y, which "b" holds: token 1; exclusive, for \S+, 9m\S+ left`,
		`  "b" waits for z, which "c" holds: token 1; shared, for \S+, 9m\S+ left`,
		`  "c" waits for x, which "a" holds: token 1; exclusive, for \S+, 9m\S+ left`,
		`  to end it, break one of these leases, as in: holdfast break y --token 1`)
	p.holdfast(t, "deadlocks", "x").want(t, 0, `^no deadlocks among the locks that match x$`)
	r := p.holdfast(t, "deadlocks", "--json").want(t, 3, `^\{"deadlock":\[`)
	var found struct {
		Deadlock []struct {
			Resource string
			Waiter   struct{ Owner string }
			Lease    struct{ Owner, Token string }
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Deadlock) != 3 || found.Deadlock[2].Resource != "x" ||
		found.Deadlock[2].Waiter.Owner != "c" || found.Deadlock[2].Lease.Owner != "a" ||
		found.Deadlock[2].Lease.Token != "1" {
		t.Errorf("%v: %s", err, r.stdout)
	}
	// Nothing was broken, until an operator does it.
	p.holdfast(t, "get", "y").want(t, 0, `^held: y by "b", token 1, `)
	p.holdfast(t, "break", "x", "--token", "1").want(t, 0, `^broke`)
	p.holdfast(t, "deadlocks").want(t, 0, `^no deadlocks$`)
	p.holdfast(t, "release", "x", "--owner", "d").want(t, 0, `^released`)
	last.out.WaitFor(t, last.done, "acquired x: token 3, ")
}

func TestCommandUnderASharedLock(t *testing.T) {
	t.Parallel()
	p := serve(t)
	show := []string{"--", "sh", "-c",
		`echo "$HOLDFAST_RESOURCE $HOLDFAST_TOKEN ${HOLDFAST_SLOTS-none} ${HOLDFAST_SLOT_TOKENS-none}"`}
	p.under(t, append([]string{"api"}, show...)...).wantBoth(t, 0, `^api 000000000000001 none none\n$`, `^$`)
	p.holdfast(t, "acquire", "api", "--owner", "first", "--limit", "4", "--permits", "2", "--ttl", "10m").want(t, 0,
		`token 2, fence 2, 2 of 4, slots 0-1,`)
	p.under(t, append([]string{"api", "--limit", "4", "--permits", "2", "-v"}, show...)...).
		wantBoth(t, 0, `^api 000000000000002 2,3 000000000000003\n$`, `acquired api: token 2, slots 2,3\n`)
	p.under(t, append([]string{"api", "--shared", "--try"}, show...)...).wantBoth(t, 0,
		`^api 000000000000002 2 000000000000004\n$`, `^$`)
	p.under(t, append([]string{"api", "--limit", "2", "--try"}, show...)...).wantBoth(t, 3, `^$`,
		`^holdfast: held: api by "first"`)
	p.under(t, append([]string{"api", "--try"}, show...)...).wantBoth(t, 3, `^$`, `^holdfast: held: api by "first"`)
	// Several locks have one line each; a nested one that is exclusive has no slots.
	p.under(t, "api", "other", "--shared", "--", "sh", "-c",
		`echo "$HOLDFAST_TOKENS" "$HOLDFAST_SLOTS" "$HOLDFAST_SLOT_TOKENS"`).
		wantBoth(t, 0, `^000000000000002\n000000000000001 2\n0 000000000000005\n000000000000001\n$`, `^$`)
	p.under(t, append([]string{"outer", "--shared", "--", stand.Binary(t), "lock", "--server", p.url, "inner"},
		show...)...).
		wantBoth(t, 0, `^inner 000000000000001 none none\n$`, `^$`)
	p.under(t, "api", "--shared", "--limit", "4", "--", "true").wantBoth(t, 2, `^$`,
		`^holdfast: --shared and --limit exclude each other`)
}
