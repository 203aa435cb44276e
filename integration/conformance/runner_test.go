package conformance_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// A mistake in a case is reported, with the case and the step.
func TestMistakesInCases(t *testing.T) {
	for _, test := range []struct{ cases, want string }{
		{`{}`, `cannot unmarshal object`},
		{`[] []`, `something behind the value`},
		{`[{"name": "c", "say": "x"}]`, `case 1 "c": json: unknown field "say"`},
		{`[{"name": "c", "says": "x"}]`, `case 1 "c": a case has steps`},
		{`[{"name": "c", "steps": [{"heal": true}]}]`, `"says" is missing`},
		{`[{"name": "a/b", "says": "x", "steps": [{"heal": true}]}]`, `without blanks and slashes`},
		{`[{"name": "c", "says": "x", "flags": ["-x"], "steps": [{"heal": true}]}]`, `need "nodes"`},
		{`[{"name": "c", "says": "x", "needs": "wings", "steps": [{"heal": true}]}]`, `"needs" is one of`},
		{step1(`{"call": "open", "clint": "a"}`), `case 1 "c": step 1: json: unknown field "clint"`},
		{step1(`{"call": "open", "lock": "l"}`), `"lock" does not belong to this step`},
		{step1(`{"call": "opn"}`), `"opn" is no call`},
		{step1(`{"name": "x"}`), `a step has one of`},
		{step1(`{"call": "open", "heal": true}`), `this has "call" and "heal"`},
		{step1(`{"call": "state", "lock": "l", "expect": {}, "error": "held"}`), `exclude each other`},
		{step1(`{"call": "acquire", "client": "a", "lock": "l", "name": "x", "mode": "both"}`), `"mode" is one of`},
		{step1(`{"call": "acquire", "client": "a", "name": "x"}`), `a name of its own`},
		{step1(`{"ask": "get"}`), `"ask" needs "name"`},
		{step1(`{"await": "w"}`), `has the id "w"`},
		{step1(`{"cancel": "w"}`), `has the id "w"`},
		{step1(`{"ask": "info", "as": "w"}, {"cancel": "w"}`), `step 2: no earlier step`},
		{step1(`{"ask": "info", "as": "w"}, {"ask": "info", "as": "w"}`), `the id of two steps`},
		{step1(`{"ask": "info", "as": "w", "expect": {}}, {"await": "w"}`), `belongs to its await`},
		{step1(`{"fault": {"what": "drop", "of": "requests"}}`), `"what" is one of`},
		{step1(`{"fault": {"what": "lose", "of": "all"}}`), `"of" is one of`},
		{step1(`{"fault": {"what": "lose", "of": "answers", "times": -1}}`), `"times" is 0`},
		{step1(`{"fault": {"what": "forge", "of": "answers"}}`), `only it has "reply"`},
		{step1(`{"fault": {"what": "forge", "of": "requests", "reply": {}}}`), `"forge" is of answers`},
		{step1(`{"fault": {"what": "lose", "of": "answers", "reply": {}}}`), `only it has "reply"`},
		{step1(`{"connection": "broken"}`), `"connection" is one of`},
		{step1(`{"node": "kill", "number": 1}`), `"number" is that of a node of the case`},
		{step1(`{"reshard": 0}`), `"reshard" is the next number of shards`},
		{step1(`{"reshard": 3}`), `"reshard" needs "nodes"`},
		{step1(`{"until": {"held": "x", "free": "x"}}`), `"until" has one of`},
		{step1(`{"until": {"waiting": "x"}}`), `"count" belongs to`},
		{step1(`{"until": {"event": "ACQUIRED"}}`), `"name" belongs to`},
		{step1(`{"until": {"cached": "a"}}`), `"count" belongs to`},
		{step1(`{"until": {"leader": "o"}}`), `"value" belongs to`},
		{step1(`{"fault": {"what": "lose", "of": "notices", "op": "keep"}}`), `"op" belongs to`},
	} {
		if _, err := parseCases([]byte(test.cases)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngot  %v\nwant %s", test.cases, err, test.want)
		}
	}
}

// step1 returns a case with these steps.
func step1(steps string) string { return `[{"name": "c", "says": "x", "steps": [` + steps + `]}]` }

// Names of cases and of resources on the shared node are there once.
func TestNamesOfCases(t *testing.T) {
	acquire := `{"call": "acquire", "client": "a", "lock": "l", "name": "n"}`
	other := strings.ReplaceAll(step1(acquire), `"c"`, `"d"`)
	own := strings.ReplaceAll(other, `"says"`, `"nodes": 1, "says"`)
	for _, test := range []struct{ first, second, want string }{
		{step1(`{"heal": true}`), step1(`{"heal": true}`), "the case"},
		{step1(acquire), other, "the resource n is that of"},
		{step1(acquire), own, ""},
		{step1(acquire), strings.ReplaceAll(step1(`{"call": "key", "name": "n"}`), `"c"`, `"d"`), ""},
	} {
		names := map[string]string{}
		var err error
		for _, data := range []string{test.first, test.second} {
			f := caseFile{name: "f"}
			if f.cases, err = parseCases([]byte(data)); err != nil {
				t.Fatal(err)
			}
			err = f.claim(names)
		}
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s\n%s\ngot  %v\nwant %q", test.first, test.second, err, test.want)
		}
	}
}

func TestMatch(t *testing.T) {
	v := vars{"l": map[string]any{"token": "7", "n": json.Number("1")}}
	for _, test := range []struct{ want, got, err string }{
		{`{"a": 1}`, `{"a": 1, "b": 2}`, ``},
		{`{"a": 1}`, `{"a": "1"}`, `a: want 1, got "1"`},
		{`{"a": {"b": [1, {"c": 2}]}}`, `{"a": {"b": [1, {"c": 3}]}}`, `a.b[1].c: want 2, got 3`},
		{`[1]`, `[1, 2]`, `want [1], got [1,2]`},
		{`{"a": "*"}`, `{"a": false}`, ``},
		{`{"a": "*"}`, `{}`, `a: want "*", got null`},
		{`{"a": null}`, `{"b": 1}`, ``},
		{`{"a": null}`, `{"a": 1}`, `a: want null, got 1`},
		{`{"a": {"b": null}}`, `{}`, `a: want {"b":null}, got null`},
		{`{"a": ["$l.token"]}`, `{"a": ["7"]}`, ``},
		{`{"a": "$l"}`, `{"a": {"token": "7", "n": 1}}`, ``},
		{`{"a": "$$l"}`, `{"a": "$l"}`, ``},
		{`{"a": "$l.other"}`, `{}`, `no earlier step returned "other"`},
		{`{"a": "$x.token"}`, `{}`, `no earlier step returned "x"`},
	} {
		want, err := v.read(json.RawMessage(test.want))
		got, failure := parse([]byte(test.got))
		if failure != nil {
			t.Fatal(failure)
		}
		if err == nil {
			err = match(want, got)
		}
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s, %s: got %v, want %q", test.want, test.got, err, test.err)
		}
	}
}

// What a lock of a client and the grants of the service have to do with one another.
func TestViolations(t *testing.T) {
	const (
		acquired = `{"ok": {"token": "1", "fence": "000000000000001", "owner": "a", "slots": [], "at_ns": "100"}}`
		shared   = `{"call": "acquire", "client": "c", "lock": "l", "name": "n", "mode": "shared"}`
		plain    = `{"call": "acquire", "client": "c", "lock": "l", "name": "n"}`
		within   = `{"call": "within", "client": "c", "lock": "l", "name": "n", "ms": 1}`
		lost     = `{"note": "lost", "lock": "l", "reason": "deadline", "at_ns": "500"}`
		use3     = `{"ok": {"token": "3", "fence": "000000000000003", "owner": "a", "slots": [], "at_ns": "100"}}`
	)
	block := lease(1, "a")
	block.Tokens = 4
	grown := []holdfast.Event{{Kind: holdfast.EventExtended, Lease: block}}
	for _, test := range []struct {
		name, acquire, result, note string
		// released and closed are when that was asked for; 0: it was not.
		released, closed int64
		events           []holdfast.Event
		// seen is when another grant was known, 0: there was none.
		seen int64
		// second is what a further acquire returned, if there was one.
		second string
		want   string
	}{
		{name: "lost in time", note: lost, seen: 501},
		{name: "lost too late", note: lost, seen: 499,
			want: `"l" on "n", token 1, was taken for held 0 µs after "b" was granted token 5`},
		{name: "lost of another lock", note: strings.Replace(lost, `"l"`, `"m"`, 1), seen: 499,
			want: "was taken for held"},
		{name: "never lost", seen: 499, want: "was taken for held"},
		{name: "released in time", released: 400, seen: 450},
		{name: "released too late", released: 460, seen: 450, want: "was taken for held"},
		{name: "closed in time", closed: 400, seen: 450},
		{name: "broken", events: []holdfast.Event{{Kind: holdfast.EventBroken, Lease: lease(1, "a")}}, seen: 450},
		{name: "shared with an exclusive lease", acquire: shared, seen: 450, want: "was taken for held"},
		{name: "shared", acquire: shared, events: []holdfast.Event{
			{Kind: holdfast.EventAcquired, Lease: sharedLease(5, "b")}}, seen: 450},
		{name: "scoped form in time", acquire: within, result: `{"error": {"code": "lost"}}`, note: lost, seen: 501},
		{name: "scoped form too late", acquire: within, result: `{"error": {"code": "lost"}}`, note: lost, seen: 499,
			want: "was taken for held"},
		{name: "another fence", result: strings.Replace(acquired, `001"`, `002"`, 1),
			want: "with fence 000000000000001"},
		{name: "another owner", result: strings.Replace(acquired, `"a"`, `"b"`, 1), want: `has owner "b"`},
		{name: "token of a block", result: use3, events: grown},
		{name: "token of no block", result: use3, events: grown[:0], want: "the service has not granted it"},
		{name: "another fence of a block", result: strings.Replace(use3, `003"`, `001"`, 1), events: grown,
			want: "with fence 000000000000003"},
		{name: "token of a block that is broken", result: use3, seen: 450, events: append(grown,
			holdfast.Event{Kind: holdfast.EventBroken, Lease: lease(1, "a")})},
		{name: "tokens of a block in turn", second: use3, events: grown, released: 96},
		{name: "tokens of a block at the same time", second: use3, events: grown, want: "was taken for held"},
		{name: "token twice", second: acquired, want: `the locks "l" and "m" on "n" have one token, 1`},
		{name: "another token", result: strings.Replace(acquired, `"1"`, `"3"`, 1),
			want: "the service has not granted it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGrants()
			g.saw(holdfast.Event{Kind: holdfast.EventAcquired, Lease: lease(1, "a")})
			for _, e := range test.events {
				g.saw(e)
			}
			if test.seen != 0 {
				if err := g.tell(leaseID{"n", "5"}, "b", false, test.seen); err != nil {
					t.Fatal(err)
				}
			}
			d := &driver{changed: make(chan struct{})}
			d.add(t, or(test.acquire, plain), or(test.result, acquired), 90)
			if test.released != 0 {
				d.add(t, `{"call": "release", "lock": "l"}`, `{"error": {"code": "unknown"}}`, test.released)
			}
			if test.second != "" {
				d.add(t, strings.Replace(plain, `"l"`, `"m"`, 1), test.second, 90)
			}
			if test.closed != 0 {
				d.add(t, `{"call": "close", "client": "c"}`, `{"ok": {}}`, test.closed)
			}
			if test.note != "" {
				d.notes = append(d.notes, object(t, test.note))
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // what the journal does not have yet will not come
			found := (&run{T: t, d: &deployment{grants: g}, driver: d,
				vars: vars{"c": map[string]any{"owner": "a"}}}).violations(ctx)
			if test.want == "" && len(found) > 0 ||
				test.want != "" && (len(found) != 1 || !strings.Contains(found[0].Error(), test.want)) {
				t.Errorf("got %v, want %q", found, test.want)
			}
		})
	}
}

// add adds a command that was answered.
func (d *driver) add(t *testing.T, call, result string, sent int64) {
	t.Helper()
	s := &step{}
	if err := s.UnmarshalJSON([]byte(call)); err != nil {
		t.Fatal(err)
	}
	o := object(t, result)
	d.commands = append(d.commands, &command{id: len(d.commands) + 1, step: s, sent: sent, came: sent + 50,
		answer: answer{o["ok"], o["error"]}})
}

func object(t *testing.T, data string) map[string]any {
	t.Helper()
	v, err := parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func lease(token holdfast.Token, owner string) holdfast.Lease {
	return holdfast.Lease{Resource: "n", Owner: owner, Token: token, Fence: 1}
}

func sharedLease(token holdfast.Token, owner string) holdfast.Lease {
	l := lease(token, owner)
	l.Limit = 10
	return l
}

// A driver that breaks the protocol is found out.
func TestBrokenDrivers(t *testing.T) {
	answering := func(line string) string { return `read command; echo '` + line + `'; read command` }
	for _, test := range []struct{ script, want string }{
		{`exit 3`, "the driver has ended"},
		{`read command; exit 0`, "the driver has ended"},
		{answering(`{"id": 1, "error": {}}`) + `; exit 3`, "status 0: exit status 3"},
		{answering(`hello`), "the driver wrote"},
		{answering(`[]`), "it is no object"},
		{answering(`{"id": 2, "ok": {}}`), "no command has the id 2"},
		{answering(`{"id": 1}`), `either "ok" or "error"`},
		{answering(`{"id": 1, "ok": {}, "error": {}}`), `either "ok" or "error"`},
		{answering(`{"id": 1, "ok": {"token": "1"}}`), "it is a number as text"},
		{answering(`{"id": 1, "ok": {"token": "1", "at_ns": "1"}}`), "it is to be of CLOCK_MONOTONIC"},
		{answering(`{"note": "lost", "lock": "l", "at_ns": "1"}`), "it is to be of CLOCK_MONOTONIC"},
		{`read command; echo '{"id": 1, "error": {}}'; echo '{"id": 1, "error": {}}'; read command`,
			"was answered before"},
	} {
		d := startDriver(t, []string{"sh", "-c", test.script})
		ctx, cancel := stepContext(t)
		c, err := d.send(&step{stepMembers: stepMembers{Call: "acquire"}}, map[string]any{})
		if err == nil {
			_, err = d.wants(ctx, c)
		}
		if err == nil {
			err = d.end(ctx)
		}
		cancel()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngot  %v\nwant %s", test.script, err, test.want)
		}
	}
}
