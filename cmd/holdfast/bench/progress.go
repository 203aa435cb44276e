package bench

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// leastInterval is the least time between two lines of progress where they do not replace one another.
const leastInterval = time.Second

// progress shows how far a load is: as a bar on a terminal, else as a line for each tenth of the duration.
type progress struct {
	out      io.Writer
	duration time.Duration
	// columns is the width of the terminal; 0: the output is none.
	columns int
	// next is when the next line is due, from the beginning.
	next time.Duration
}

func newProgress(out io.Writer, duration time.Duration) *progress {
	p := &progress{out: out, duration: duration, columns: display.SizeOf(out).Columns}
	p.next = p.interval()
	return p
}

func (p *progress) interval() time.Duration { return max(p.duration/10, leastInterval) }

// show is called during the load.
func (p *progress) show(m *load.Meter) {
	elapsed := m.Elapsed()
	pairs := m.Count(messages.OpRelease)
	text := fmt.Sprintf("%d pairs, %.0f/s", pairs, float64(pairs)/max(elapsed.Seconds(), 1e-3))
	if n := m.Failures(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	switch {
	case p.columns > 0:
		share := float64(elapsed) / float64(p.duration)
		_, _ = fmt.Fprint(p.out, "\r"+display.Bar(share, text, p.columns)+display.ClearLine)
	case elapsed >= p.next && elapsed < p.duration:
		_, _ = fmt.Fprintf(p.out, "%s of %s: %s\n", display.Duration(elapsed), display.Duration(p.duration), text)
		p.next += p.interval()
	}
}

// clear removes the bar.
func (p *progress) clear() {
	if p.columns > 0 {
		_, _ = fmt.Fprint(p.out, "\r"+display.ClearLine)
	}
}
