package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Chart is a line chart with two logarithmic axes.
type Chart struct {
	Title, X, Y string
	Lines       []Line
	// Ticks names places of the horizontal axis; nil: those of the points.
	Ticks []Tick
}

// Line is one line of a chart, its points in the order of X.
type Line struct {
	Name   string
	Points []Point
}

// Point is a point of a line. Both are above 0.
type Point struct{ X, Y float64 }

// Tick is a place of an axis with its label.
type Tick struct {
	At    float64
	Label string
}

// The layout in pixels.
const (
	width, height             = 860, 480
	left, right, top, bottom  = 80, 190, 44, 56
	plotWidth, plotHeight     = width - left - right, height - top - bottom
	legendX, legendY, lineGap = width - right + 16, top + 12, 20
)

// colours are distinguished by people who are colour-blind too; dashes distinguish the lines behind them.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// SVG returns the chart as an image.
func (c *Chart) SVG() string {
	x, y := c.scales()
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n",
		width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	label(&b, left, 24, "start", c.Title)
	label(&b, left+plotWidth/2, height-12, "middle", c.X)
	fmt.Fprintf(&b, `<text transform="translate(18 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
		top+plotHeight/2, html.EscapeString(c.Y))
	for _, t := range c.ticks(x) {
		at := left + x.place(t.At)*plotWidth
		fmt.Fprintf(&b, `<path d="M%.1f %d v%d" stroke="#dddddd"/>`+"\n", at, top, plotHeight)
		label(&b, at, top+plotHeight+20, "middle", t.Label)
	}
	for _, t := range y.ticks() {
		at := top + (1-y.place(t.At))*plotHeight
		fmt.Fprintf(&b, `<path d="M%d %.1f h%d" stroke="#dddddd"/>`+"\n", left, at, plotWidth)
		label(&b, left-8, at+4, "end", t.Label)
	}
	for n, l := range c.Lines {
		l.draw(&b, n, x, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw draws the nth line and its entry of the legend.
func (l *Line) draw(b *strings.Builder, n int, x, y scale) {
	var points []string
	style := fmt.Sprintf(`stroke="%s" stroke-width="2" fill="none"`, colours[n%len(colours)])
	if n >= len(colours) {
		style += ` stroke-dasharray="6 4"`
	}
	for _, p := range l.Points {
		points = append(points, fmt.Sprintf("%.1f,%.1f", left+x.place(p.X)*plotWidth, top+(1-y.place(p.Y))*plotHeight))
	}
	fmt.Fprintf(b, `<polyline points="%s" %s/>`+"\n", strings.Join(points, " "), style)
	if len(points) < 12 { // more are a curve
		for _, p := range points {
			cx, cy, _ := strings.Cut(p, ",")
			fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`+"\n", cx, cy, colours[n%len(colours)])
		}
	}
	at := legendY + n*lineGap
	fmt.Fprintf(b, `<path d="M%d %d h24" %s/>`+"\n", legendX, at, style)
	label(b, legendX+30, float64(at)+4, "start", l.Name)
}

func label(b *strings.Builder, x, y float64, anchor, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(text))
}

// scale maps a range to places from 0 to 1, logarithmically.
type scale struct{ least, most float64 }

func (s scale) place(v float64) float64 {
	return math.Log(v/s.least) / math.Log(s.most/s.least)
}

// ticks returns powers of ten, and twice and five times them if there are few.
func (s scale) ticks() (ticks []Tick) {
	steps := []float64{1}
	if s.most/s.least < 1000 {
		steps = []float64{1, 2, 5}
	}
	for power := math.Floor(math.Log10(s.least)); power <= math.Log10(s.most); power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= s.least*0.999 && v <= s.most*1.001 {
				ticks = append(ticks, Tick{v, short(v)})
			}
		}
	}
	return ticks
}

func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", math.Round(v/1e4)/100)
	case v >= 1e3:
		return fmt.Sprintf("%gk", math.Round(v/10)/100)
	}
	return fmt.Sprintf("%.3g", v)
}

// ticks returns those of the horizontal axis that are within its scale.
func (c *Chart) ticks(x scale) []Tick {
	ticks := c.Ticks
	if ticks == nil {
		ticks = c.places()
	}
	return slices.DeleteFunc(slices.Clone(ticks), func(t Tick) bool { return t.At < x.least || t.At > x.most })
}

// places returns a tick for each place of a point.
func (c *Chart) places() (ticks []Tick) {
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if t := (Tick{p.X, short(p.X)}); !slices.Contains(ticks, t) {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// scales returns scales with a margin around all points.
func (c *Chart) scales() (x, y scale) {
	x, y = scale{math.Inf(1), 0}, scale{math.Inf(1), 0}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			x = scale{min(x.least, p.X), max(x.most, p.X)}
			y = scale{min(y.least, p.Y), max(y.most, p.Y)}
		}
	}
	return scale{x.least / 1.1, x.most * 1.1}, scale{y.least / 1.3, y.most * 1.3}
}
