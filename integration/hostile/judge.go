package hostile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// level is what a node uses while no client is connected.
type level struct {
	connections, subscriptions, goroutines, files int64
	// heap is what was in use after the last collection, and resident what the process has, in bytes.
	heap, resident int64
	// started is when the process began, in Unix seconds.
	started int64
}

// String is the level on one line.
func (l level) String() string {
	return fmt.Sprintf("%d connections, %d subscriptions, %d goroutines, %d files, heap %d MB, resident %d MB",
		l.connections, l.subscriptions, l.goroutines, l.files, l.heap>>20, l.resident>>20)
}

// The slack of the levels: what libraries and the runtime may keep.
const (
	slackGoroutines, slackFiles  = 20, 20
	slackHeap, slackResident     = 32 << 20, 96 << 20
	slackHeapIn, slackResidentIn = 2, 2 // one part of so many
)

// isBack returns what a level has more than before that was made by clients, and must be gone with them.
func (l level) isBack(before level) (wrong []string) {
	for _, m := range []struct {
		what            string
		is, was, beside int64
	}{
		{"connections", l.connections, before.connections, 0},
		{"subscriptions", l.subscriptions, before.subscriptions, 0},
		{"goroutines", l.goroutines, before.goroutines, slackGoroutines},
		{"open files", l.files, before.files, slackFiles},
	} {
		if m.is > m.was+m.beside {
			wrong = append(wrong, fmt.Sprintf("%d %s are left, where there were %d", m.is, m.what, m.was))
		}
	}
	return wrong
}

// leaks returns what grows from phase to phase. The first phase fills pools and caches.
func leaks(levels []level) (wrong []string) {
	if len(levels) < 2 {
		return nil
	}
	first, last := levels[0], levels[len(levels)-1]
	if bound := first.heap + first.heap/slackHeapIn + slackHeap; last.heap > bound {
		wrong = append(wrong, fmt.Sprintf("the heap grows: %d MB after the first attack, %d MB after the last",
			first.heap>>20, last.heap>>20))
	}
	if bound := first.resident + first.resident/slackResidentIn + slackResident; last.resident > bound {
		wrong = append(wrong, fmt.Sprintf("the memory grows: %d MB after the first attack, %d MB after the last",
			first.resident>>20, last.resident>>20))
	}
	for i := range levels {
		if levels[i].started != first.started {
			wrong = append(wrong, fmt.Sprintf("the process has been replaced before the end of attack %d", i+1))
		}
	}
	return wrong
}

// own is where the resources of the attackers begin.
const own = "hostile."

// strangers returns the resources in a record that are neither below own nor among those of the load.
func strangers(r *journal.Record, load map[string]bool) (wrong []string) {
	var names []string
	for _, c := range r.GetCommit().GetChanges() {
		names = append(names, c.GetResource()+c.GetGrant().GetResource())
	}
	for _, e := range r.GetPage().GetEntries() {
		names = append(names, e.Name())
	}
	for _, name := range names {
		if !load[name] && !strings.HasPrefix(name, own) {
			wrong = append(wrong, fmt.Sprintf("%s has %q, which is neither the load's nor the attackers'", r.Describe(),
				name))
		}
	}
	return wrong
}

// alarms returns the lines of a log that show a panic, a race or a fault.
func alarms(log string) (wrong []string) {
	for line := range strings.Lines(log) {
		for _, word := range []string{"panic", "fatal error", "DATA RACE", "cannot store"} {
			if strings.Contains(line, word) {
				wrong = append(wrong, "the log says: "+strings.TrimSpace(line[:min(len(line), 500)]))
				break
			}
		}
	}
	return wrong[:min(len(wrong), 10)]
}

// pair is a worker's view of a resource that only it uses: the token of its last grant.
type pair struct {
	token uint64
	// doubt: the outcome of the last acquire is not known.
	doubt bool
}

// granted notes the next grant, and returns what is wrong with its token.
func (p *pair) granted(key string, token uint64) (wrong string) {
	if token != p.token+1 && (!p.doubt || token <= p.token) {
		wrong = fmt.Sprintf("%s: token %d follows token %d, and only one client uses it", key, token, p.token)
	}
	p.token, p.doubt = token, false
	return wrong
}

// overlooked returns which acknowledged grants are not in the journals, which have these last tokens.
func overlooked(acknowledged, stored map[string]uint64) (wrong []string) {
	for key, token := range acknowledged {
		if stored[key] < token {
			wrong = append(wrong, fmt.Sprintf("%s: token %d was acknowledged, the journal ends with %d", key, token,
				stored[key]))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// accounted are the refusals and failures that a load may meet beside an attack: it sends each request once.
var accounted = map[string]bool{"OVERLOADED": true, "UNAVAILABLE": true, "TIMEOUT": true, "NO_ANSWER": true}

// fewFailures are too few to show a share.
const fewFailures = 5

// failures returns what is wrong with the outcome of a load: nothing done, another failure than an accounted one, or
// more than one in a hundred pairs.
func failures(done int64, by map[string]uint64) (wrong []string) {
	if done == 0 {
		wrong = append(wrong, "the load has stopped: no pair was completed beside the attack")
	}
	all := uint64(0)
	for code, n := range by {
		if all += n; !accounted[code] {
			wrong = append(wrong, fmt.Sprintf("%d calls of the load have failed with %s", n, code))
		}
	}
	if all > fewFailures+uint64(done)/100 {
		wrong = append(wrong, fmt.Sprintf("%d calls of the load have failed beside %d pairs", all, done))
	}
	slices.Sort(wrong)
	return wrong
}
