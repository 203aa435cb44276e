package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plotWidth and plotHeight are the size of a drawing, in its own units.
const plotWidth, plotHeight = 300, 60

// plot is a line over the last minutes.
type plot struct {
	Title string
	// Unit is what stands behind a value.
	Unit   string
	points []point
}

// point is a value, or that there is none.
type point struct {
	value float64
	known bool
}

func (p *plot) add(value float64, known bool) { p.points = append(p.points, point{value, known}) }

// addMean adds the mean of a total, if there was anything.
func (p *plot) addMean(total time.Duration, n uint64) {
	p.add(total.Seconds()*1000/float64(max(n, 1)), n > 0)
}

// Latest is the last value, as text.
func (p *plot) Latest() string {
	if n := len(p.points); n > 0 && p.points[n-1].known {
		return p.text(p.points[n-1].value)
	}
	return "none"
}

// Most is the highest value, as text; empty if there is none.
func (p *plot) Most() string {
	if !slices.ContainsFunc(p.points, func(x point) bool { return x.known }) {
		return ""
	}
	return p.text(p.most())
}

func (p *plot) most() (most float64) {
	for _, x := range p.points {
		if x.known {
			most = max(most, x.value)
		}
	}
	return most
}

func (p *plot) text(value float64) string {
	precision := 0
	if value < 10 {
		precision = 1
	}
	return strconv.FormatFloat(value, 'f', precision, 64) + p.Unit
}

// Path is the line in the notation of SVG. It is interrupted where there is no value; the newest value is at the right.
func (p *plot) Path() string {
	var b strings.Builder
	scale, command := max(p.most(), 1), "M"
	for i, x := range p.points {
		if !x.known {
			command = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1fh0", command, float64(mostSamples-len(p.points)+i)*plotWidth/mostSamples, plotHeight*(1-x.value/scale))
		command = "L"
	}
	return b.String()
}

// ViewBox is the size of the drawing, with room for the width of the line.
func (p *plot) ViewBox() string { return fmt.Sprintf("-2 -2 %d %d", plotWidth+4, plotHeight+4) }
