package soak

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// line is something that was seen of a resource.
type line struct {
	at     instant
	who    string
	what   string
	status messages.Status
	token  uint64
	sent   instant
	note   string
}

func (l line) String() string {
	s := fmt.Sprintf("%12v  %-10s %-10s", l.at, l.who, l.what)
	if l.status != 0 {
		s += fmt.Sprintf(" %-12s", l.status)
	}
	if l.token != 0 {
		s += fmt.Sprintf(" token %d", l.token)
	}
	if l.sent != 0 {
		s += fmt.Sprintf(", sent %v", l.sent)
	}
	return s + " " + l.note
}

// trace is the youngest history of a resource.
type trace struct {
	lines [120]line
	n     int
}

func (t *trace) add(l line) {
	t.lines[t.n%len(t.lines)] = l
	t.n++
}

func (t *trace) String() string {
	kept := slices.Clone(t.lines[:min(t.n, len(t.lines))])
	slices.SortStableFunc(kept, func(a, b line) int { return int(a.at - b.at) })
	var b strings.Builder
	for _, l := range kept {
		b.WriteString(l.String())
		b.WriteByte('\n')
	}
	return b.String()
}
