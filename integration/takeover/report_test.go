package takeover_test

import (
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// report sums a round, or several, up.
type report struct {
	takeovers, stepDowns, freezes, stops, kills int64
	records                                     int64
	counts                                      linear.Counts
	// answers are counted by status, if they have a request.
	answers    [messages.Status_EXHAUSTED + 1]int64
	unanswered int64
	// missing says of what there was too little.
	missing []string
}

func newReport(t *trouble) *report {
	return &report{stepDowns: t.stepDowns.Load(), freezes: t.freezes.Load(), stops: t.stops.Load(), kills: t.kills.Load()}
}

func (r *report) count(m *mail) {
	r.unanswered = int64(len(m.asks))
	for status := range m.answers {
		r.answers[status] = m.answers[status].Load()
		r.unanswered -= r.answers[status]
	}
}

func (r *report) add(o *report) {
	r.takeovers += o.takeovers
	r.stepDowns += o.stepDowns
	r.freezes += o.freezes
	r.stops += o.stops
	r.kills += o.kills
	r.records += o.records
	r.counts.Add(o.counts)
	for status, n := range o.answers {
		r.answers[status] += n
	}
	r.unanswered += o.unanswered
}

// String returns one line.
func (r *report) String() string {
	var answers []string
	total := int64(0)
	for status, n := range r.answers {
		if total += n; n > 0 {
			answers = append(answers, fmt.Sprintf("%s %d", messages.Status(status), n))
		}
	}
	return fmt.Sprintf("%d takeovers, %d step-downs, servers frozen %d times, stopped %d and killed %d, %d records, %d answers (%s), %d requests without one; %v",
		r.takeovers, r.stepDowns, r.freezes, r.stops, r.kills, r.records, total, strings.Join(answers, ", "), r.unanswered, r.counts)
}

// missing says of what too little has happened so far for the round to prove anything.
func (s *storm) missing(t *trouble) (missing []string) {
	for _, floor := range []struct {
		what       string
		got, least int64
	}{
		{"openings of shards", s.tally.opened.Load(), 20},
		{"pages", s.tally.pages.Load(), 10},
		{"owners who found themselves deposed", s.tally.deposed.Load(), 5},
		{"step-downs", t.stepDowns.Load(), 3},
		{"servers frozen", t.freezes.Load(), 1},
		{"restarts", t.stops.Load() + t.kills.Load(), 1},
		{"grants", s.mail.answers[messages.Status_GRANTED].Load(), 200},
		{"refusals because of an owner deposed", s.mail.answers[messages.Status_UNAVAILABLE].Load(), 30},
	} {
		if floor.got < floor.least {
			missing = append(missing, fmt.Sprintf("%d %s, want at least %d", floor.got, floor.what, floor.least))
		}
	}
	return missing
}
