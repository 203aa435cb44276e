package hostile

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// usual is a level of a node.
var usual = level{connections: 7, subscriptions: 100, goroutines: 130, files: 19, heap: 10 << 20, resident: 50 << 20,
	started: 1}

// with returns the level with a change.
func (l level) with(change func(*level)) level {
	change(&l)
	return l
}

func TestLevelThatIsNotBack(t *testing.T) {
	if wrong := usual.with(func(l *level) { l.goroutines += slackGoroutines; l.files++; l.subscriptions-- }).isBack(
		usual); len(wrong) > 0 {
		t.Errorf("got %q", wrong)
	}
	for want, change := range map[string]func(*level){
		"8 connections are left, where there were 7":       func(l *level) { l.connections++ },
		"101 subscriptions are left, where there were 100": func(l *level) { l.subscriptions++ },
		"151 goroutines are left, where there were 130":    func(l *level) { l.goroutines += slackGoroutines + 1 },
		"40 open files are left, where there were 19":      func(l *level) { l.files += slackFiles + 1 },
	} {
		wantOnly(t, want, usual.with(change).isBack(usual))
	}
}

func TestLeaks(t *testing.T) {
	grown := func(change func(*level)) []level {
		return []level{usual, usual.with(func(l *level) { l.heap += slackHeap / 2; l.resident += slackResident / 2 }),
			usual.with(change)}
	}
	if wrong := leaks(grown(func(l *level) { l.heap += slackHeap })); len(wrong) > 0 {
		t.Errorf("got %q", wrong)
	}
	wantOnly(t, "the heap grows: 10 MB after the first attack, 57 MB after the last",
		leaks(grown(func(l *level) { l.heap += usual.heap/slackHeapIn + slackHeap + 10<<20 })))
	wantOnly(t, "the memory grows: 50 MB after the first attack, 250 MB after the last",
		leaks(grown(func(l *level) { l.resident = 250 << 20 })))
	wantOnly(t, "the process has been replaced before the end of attack 3",
		leaks(grown(func(l *level) { l.started++ })))
}

func TestStrangers(t *testing.T) {
	commit := func(name string) *journal.Record {
		return &journal.Record{Body: &journal.Record_Commit{Commit: &journal.Commit{
			Number: 7, Changes: []*journal.Change{
				{Kind: messages.Event_BROKEN, Grant: &journal.Grant{Resource: name, Token: 1}}},
		}}}
	}
	page := func(name string) *journal.Record {
		return &journal.Record{Body: &journal.Record_Page{
			Page: &journal.Page{Entries: []*journal.Entry{{Grant: &journal.Grant{Resource: name, Token: 1}}}}}}
	}
	for _, name := range []string{"load.1", "hostile.a"} {
		if wrong := append(strangers(commit(name), map[string]bool{"load.1": true}),
			strangers(page(name), map[string]bool{"load.1": true})...); len(wrong) > 0 {
			t.Errorf("got %q", wrong)
		}
	}
	wantOnly(t, `has "load.2", which is neither the load's nor the attackers'`,
		strangers(commit("load.2"), map[string]bool{"load.1": true}))
	wantOnly(t, `has "hostil", which is neither`, strangers(page("hostil"), nil))
	wantOnly(t, `has "load.3", which is neither`, strangers(
		&journal.Record{Body: &journal.Record_Commit{
			Commit: &journal.Commit{Changes: []*journal.Change{{Resource: "load.3", Reserved: 5}}}}}, nil))
}

func TestAlarms(t *testing.T) {
	const quiet = "level=WARN msg=\"1.2.3.4:5 - cid:7 - Publish Violation\"\n"
	if wrong := alarms(quiet); len(wrong) > 0 {
		t.Errorf("got %q", wrong)
	}
	for _, line := range []string{
		`level=ERROR msg="panic in a resource"`, "fatal error: concurrent map writes", "WARNING: DATA RACE",
		`level=ERROR msg="this node cannot store on its disk"`,
	} {
		wantOnly(t, line, alarms(quiet+line+"\n"))
	}
}

func TestPair(t *testing.T) {
	p := &pair{}
	for token := range uint64(3) {
		if wrong := p.granted("k", token+1); wrong != "" {
			t.Error(wrong)
		}
	}
	if wrong := p.granted("k", 5); wrong != "k: token 5 follows token 3, and only one client uses it" {
		t.Errorf("a gap: %q", wrong)
	}
	p.doubt = true
	if wrong := p.granted("k", 7); wrong != "" {
		t.Errorf("a gap behind an acquire without an answer: %q", wrong)
	}
	p.doubt = true
	if p.granted("k", 7) == "" {
		t.Error("a token may come twice")
	}
}

func TestOverlooked(t *testing.T) {
	if wrong := overlooked(map[string]uint64{"a": 3}, map[string]uint64{"a": 4}); len(wrong) > 0 {
		t.Errorf("got %q", wrong)
	}
	wantOnly(t, "a: token 3 was acknowledged, the journal ends with 2",
		overlooked(map[string]uint64{"a": 3, "b": 1}, map[string]uint64{"a": 2, "b": 1}))
}

func TestFailures(t *testing.T) {
	if wrong := failures(1000, map[string]uint64{"OVERLOADED": 9, "NO_ANSWER": 1}); len(wrong) > 0 {
		t.Errorf("got %q", wrong)
	}
	wantOnly(t, "16 calls of the load have failed beside 1000 pairs",
		failures(1000, map[string]uint64{"OVERLOADED": 16}))
	wantOnly(t, "1 calls of the load have failed with NOT_OWNER", failures(1000, map[string]uint64{"NOT_OWNER": 1}))
	wantOnly(t, "the load has stopped", failures(0, nil))
}

// Attackers with the same seed and number do the same.
func TestDice(t *testing.T) {
	script := func(seed, number uint64) string {
		c := &attacker{dice: newDice(seed, number), user: "some"}
		var b strings.Builder
		for range 200 {
			b.WriteString(moves[c.pick()].make(c))
		}
		return b.String()
	}
	first := script(1, 2)
	if script(1, 2) != first || script(1, 3) == first || script(2, 2) == first {
		t.Error("what an attacker does follows from more or less than the seed and its number")
	}
}

// wantOnly checks that one thing is wrong, which has these words.
func wantOnly(t *testing.T, words string, wrong []string) {
	t.Helper()
	if len(wrong) != 1 || !strings.Contains(wrong[0], words) {
		t.Errorf("got %q, want only %q", wrong, words)
	}
}
