package display

import (
	"fmt"
	"io"
)

// Gauge is a progress bar in one line of a terminal. On another output it shows nothing.
type Gauge struct {
	out     io.Writer
	columns int
	shown   string
}

// NewGauge returns a gauge that writes to out.
func NewGauge(out io.Writer) *Gauge { return &Gauge{out: out, columns: Columns(out)} }

// Show shows how much is done, from 0 to 1, with a text behind it.
func (g *Gauge) Show(done float64, text string) {
	if bar := Bar(done, text, g.columns); g.columns > 0 && bar != g.shown {
		g.shown = bar
		_, _ = fmt.Fprint(g.out, "\r"+bar+ClearLine) // an error of the terminal cannot be reported
	}
}

// Clear removes the bar.
func (g *Gauge) Clear() {
	if g.columns > 0 {
		_, _ = fmt.Fprint(g.out, "\r"+ClearLine)
	}
}
