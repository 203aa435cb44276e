package assignment

import (
	"strings"
	"testing"
	"time"
)

// The audit has a line for each node that joins, leaves and is lost, and no other.
func TestMembershipIsAudited(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.start("a")
		w.pass(peace)
		b := w.start("b")
		w.pass(peace)
		c := w.start("c")
		w.pass(peace)
		b.shutDown()
		w.pass(peace)
		c.kill()
		w.pass(peace)
		a.kill() // nothing is written any more
		var got []string
		for line := range strings.Lines(a.audit.String()) {
			_, line, _ = strings.Cut(strings.TrimSpace(line), " ") // the time
			got = append(got, line)
		}
		want := []string{
			`level=INFO msg="node joined" node=b version=""`, `level=INFO msg="node joined" node=c version=""`,
			`level=INFO msg="node left" node=b`, `level=WARN msg="node lost" node=c silent_for=2s`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A node receives its own announcements or reports that it does not, its controller ticks, and it knows its shards.
func TestHealth(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.start("a")
		w.pass(peace)
		b := w.start("b")
		w.pass(peace)
		if err := a.Hears(); err != nil {
			t.Error(err)
		}
		if n, m := len(a.Present()), len(b.Present()); n == 0 || m == 0 || n+m != worldShards {
			t.Errorf("a has %d shards and b %d, of %d", n, m, worldShards)
		}
		w.cut(a, a, true)
		w.pass(3 * time.Second)
		const want = "has not received its own announcements for "
		if err := a.Hears(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a node that does not receive its own announcements: %v", err)
		}
		w.cut(a, a, false)
		w.pass(time.Second)
		if err := a.Hears(); err != nil {
			t.Errorf("it receives its own announcements again: %v", err)
		}
		w.pass(peace)
		if err := a.Ticks(); err != nil {
			t.Error(err)
		}
		b.kill()
		w.pass(peace)
		if err := b.Ticks(); err == nil || !strings.Contains(err.Error(), "has stood still for ") {
			t.Errorf("a controller that does not run: %v", err)
		}
		if n := len(a.Present()); n != worldShards {
			t.Errorf("alone, a has %d shards of %d", n, worldShards)
		}
	})
}
