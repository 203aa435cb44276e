package main_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// instant is how a time is written.
const instant = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\S+`

// wantLines fails the test unless the command succeeded and said these lines, each after a time.
func wantLines(t *testing.T, r result, patterns ...string) {
	t.Helper()
	for i := range patterns {
		patterns[i] = instant + " " + patterns[i]
	}
	wantRows(t, r, patterns...)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "history", "orders.42").want(t, 0, `^the journal has no changes of orders\.42$`)
	p.holdfast(t, "history", "orders.*").want(t, 0, `takes no pattern: holdfast watch --since`)
	p.holdfast(t, "history", "orders.42", "--json").wantNothing(t)
	p.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	p.holdfast(t, "acquire", "a b", "--owner", "me").want(t, 0, `token 1`)
	p.holdfast(t, "extend", "orders.42", "--owner", "me", "--ttl", "20m").want(t, 0, `^extended`)
	p.holdfast(t, "release", "orders.42", "--owner", "me").want(t, 0, `^released`)
	p.holdfast(t, "acquire", "orders.42", "--owner", "\x1b[31mred\u202e", "--ttl", "10m").want(t, 2, `owner: `)
	p.holdfast(t, "acquire", "orders.42", "--owner", "\u202ered", "--ttl", "10m").want(t, 0, `token 2`)
	p.holdfast(t, "break", "orders.42", "--token", "2", "--reason", "it hangs").want(t, 0, `^broke`)
	wantLines(t, p.holdfast(t, "history", "orders.42"),
		`acquired orders\.42 by "me", token 1, lease 10m`,
		`extended orders\.42 by "me", token 1, lease 20m`,
		`released orders\.42 by "me", token 1, held \S+`,
		`acquired orders\.42 by "\\u202ered", token 2, lease 10m`,
		`broken orders\.42 by "\\u202ered", token 2, held \S+, reason "it hangs"`,
	)
	wantLines(t, p.holdfast(t, "history", "a b"), `acquired "a b" by "me", token 1, lease 30s`)
	var kinds []string
	for line := range strings.Lines(p.holdfast(t, "history", "orders.42", "--json").stdout) {
		kinds = append(kinds, eventIn(t, line).GetKind().String())
	}
	if got := strings.Join(kinds, " "); got != "ACQUIRED EXTENDED RELEASED ACQUIRED BROKEN" {
		t.Errorf("in JSON: %s", got)
	}
}

// shownEvent is a line of a watch in JSON.
type shownEvent struct {
	Event, Present json.RawMessage
	Position       string
}

func readLine(t *testing.T, line string) (e shownEvent) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return e
}

func eventIn(t *testing.T, line string) *messages.Event {
	t.Helper()
	e := readLine(t, line)
	var m messages.Event
	if err := messages.DecodeReply(messages.JSON, e.Event, &m); err != nil || e.Position == "" || m.GetLease().GetFence() == "" {
		t.Fatalf("%v: %s", err, line)
	}
	return &m
}

func TestWatchShowsChanges(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "orders.1", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	watch := start(t, "watch", "orders.*", "--present", "--server", p.url)
	watch.out.WaitFor(t, watch.done, "present ")
	p.holdfast(t, "acquire", "people.1", "--owner", "me").want(t, 0, `token 1`)
	p.holdfast(t, "release", "orders.1", "--owner", "me").want(t, 0, `^released`)
	watch.out.WaitFor(t, watch.done, "released ")
	watch.signal(t, syscall.SIGINT)
	if state := watch.wait(t); state.ExitCode() != 0 || watch.log.String() != "" {
		t.Errorf("%v, said %q", state, watch.log)
	}
	form := regexp.MustCompile(`^` + instant + ` present  orders\.1 by "me", token 1, since ` + instant + "\n" +
		instant + ` released orders\.1 by "me", token 1, held \S+` + "\n$")
	if !form.MatchString(watch.out.String()) {
		t.Errorf("wrote %q", watch.out)
	}
}

// A watch goes on from a position that another one has shown, across a crash of the server.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data", dir)
	watch := start(t, "watch", "--json", "--server", first.url)
	begin := readLine(t, watch.out.WaitFor(t, watch.done, `{"position":`)).Position
	first.holdfast(t, "acquire", "orders.1", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	line := watch.out.WaitFor(t, watch.done, `"ACQUIRED"`)
	if e := eventIn(t, line); e.GetLease().GetResource() != "orders.1" || e.GetLease().GetToken() != 1 {
		t.Errorf("shown: %s", line)
	}
	first.kill(t)
	second := again(t, first, dir)
	second.holdfast(t, "release", "orders.1", "--owner", "me").want(t, 0, `^released`)
	watch.out.WaitFor(t, watch.done, `"RELEASED"`)

	wantLines(t, second.holdfast(t, "watch", "--count", "2", "--position", begin),
		`acquired orders\.1 by "me", token 1, lease 10m`, `released orders\.1 by "me", token 1, held \S+`)
	wantLines(t, second.holdfast(t, "watch", "--count", "1", "--position", readLine(t, line).Position),
		`released orders\.1 by "me", token 1, held \S+`)
	wantLines(t, second.holdfast(t, "watch", ">", "--count", "2", "--since", "1h"),
		`acquired orders\.1 by "me", token 1, lease 10m`, `released orders\.1 by "me", token 1, held \S+`)
	present := second.holdfast(t, "watch", "orders.1", "--count", "1", "--json", "--since", "1h")
	if e := eventIn(t, lastLine(present.stdout)); e.GetKind() != messages.Event_ACQUIRED {
		t.Errorf("shown: %s", present.stdout)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}

func TestWatchUsage(t *testing.T) {
	t.Parallel()
	run(t, "watch", "a", "b").want(t, 2, `^holdfast: holdfast watch takes one pattern, got 2: "a", "b"`)
	run(t, "watch", "a.>.b").want(t, 2, `^holdfast: the pattern: `)
	run(t, "watch", "--since", "1h", "--present").want(t, 2, `^holdfast: --since and --present exclude each other: `)
	run(t, "watch", "--position", "0:1", "--present").want(t, 2,
		`^holdfast: --position and --present exclude each other: `)
	run(t, "watch", "--position", "here").want(t, 2,
		`^holdfast: --position: a position as printed by --json, got "here"$`)
	run(t, "watch", "--count", "0").want(t, 2, `^holdfast: --count: 1 to 1000000000, got "0"$`)
	run(t, "history").want(t, 2, `^holdfast: name the resource, as in: holdfast history orders\.42$`)
	run(t, "watch", "--server", "nats://127.0.0.1:1").want(t, 5, `^holdfast: no NATS server answers at `)
	p := serve(t)
	p.holdfast(t, "watch", "--prefix", "other", "--timeout", "2s").
		want(t, 5, `^holdfast: cannot read the journal at nats://\S+: no node of Holdfast answers below "other"; `)
	p.holdfast(t, "watch", "--position", "9:9").want(t, 2, `^holdfast: position: one of all shards`)
	p.holdfast(t, "watch", "--position", "0:999,1:0,2:0,3:0", "--timeout", "10s").want(t, 2,
		`^holdfast: position: its journal has no commit 999`)
}
