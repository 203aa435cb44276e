package takeover_test

import (
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// report sums a round up.
type report struct {
	takeovers int
	counts    linear.Counts
	// text has the rest, on one line.
	text string
	// missing says of what there was too little.
	missing []string
}

// report sums up what the journals, the answers and their check say.
func (s *storm) report(t *trouble, j *linear.Journal, counts linear.Counts) *report {
	var answers []string
	silent := int64(len(s.mail.asks))
	for status := range s.mail.answers {
		if n := s.mail.answers[status].Load(); n > 0 {
			answers = append(answers, fmt.Sprintf("%s %d", messages.Status(status), n))
			silent -= n
		}
	}
	return &report{takeovers: j.Takeovers(), counts: counts, missing: s.missing(t), text: fmt.Sprintf(
		"%d takeovers, %d step-downs, servers frozen %d times, stopped %d and killed %d, %d records, answers: %s, %d "+
			"requests without one; %v; %v",
		j.Takeovers(), t.stepDowns.Load(), t.freezes.Load(), t.stops.Load(), t.kills.Load(), j.Len(),
		strings.Join(answers, ", "), silent,
		counts, &s.tally)}
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
		{"shared grants", s.mail.shared.Load(), 50},
		{"downgrades", s.mail.downgraded.Load(), 5},
		{"refusals because of an owner deposed", s.mail.answers[messages.Status_UNAVAILABLE].Load(), 30},
	} {
		if floor.got < floor.least {
			missing = append(missing, fmt.Sprintf("%d %s, want at least %d", floor.got, floor.what, floor.least))
		}
	}
	return missing
}
