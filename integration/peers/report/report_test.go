package report_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/integration/peers/network"
	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/report"
	"github.com/holdfast-io/holdfast/messages"
)

var pairs = report.Case{Nodes: 1, Workload: peer.Pairs, Clients: 1, Resources: 10}

func row(name string, p50 time.Duration, rates ...float64) *report.Row {
	r := &report.Row{Case: pairs, Peer: name}
	for _, rate := range rates {
		r.Samples = append(r.Samples, report.Sample{Rate: rate, P50: p50, CPU: time.Millisecond})
	}
	return r
}

// A disturbance in one round changes neither the median nor the ratio.
func TestMedians(t *testing.T) {
	one, other := row("one", 0, 100, 10, 120), row("other", 0, 50, 5, 40)
	if got := one.Median(report.Rate); got != 100 {
		t.Errorf("the median is %v", got)
	}
	if got := one.Over(other, report.Rate); got != 2 {
		t.Errorf("the ratio is %v", got)
	}
	if got := one.Over(row("none", 0), report.Rate); got != 0 {
		t.Errorf("the ratio to nothing is %v", got)
	}
}

func TestText(t *testing.T) {
	r := &report.Report{Machine: "a machine", Compared: []*report.Row{
		row("holdfast", 3*time.Millisecond, 100), row("etcd", time.Millisecond, 50), row("nats", time.Millisecond, 400),
		row("fsync", time.Millisecond, 400), {Case: pairs, Peer: "broken", Err: errors.New("it broke")},
		row("against", time.Millisecond, 80),
	}}
	text := r.Text("against")
	var lines []string // without the alignment
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"1 pairs 1 holdfast 100 3.00 0.000 0.000 1000 1",
		"1 pairs 1 broken failed - - - - 0",
		"1 pairs 1 holdfast etcd 2.00 3.00 - 1.00",
		"1 pairs 1 holdfast against 1.25 3.00 - 1.00",
		"nodes clients pairs a second p50 ms × etcd × nats",
		"1 1 100 3.00 2.00 0.250",
		"The p50 of a lone acquire is 3.00 ms, 1.50 times that of a bare request (1.00 ms) plus that of an fsync " +
			"(1.00 ms).",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

// The columns of a network are there if one row has a delay.
func TestDelayIsShown(t *testing.T) {
	c := pairs
	c.Nodes, c.Delay = 3, 500*time.Microsecond
	far, other := row("holdfast", 3*time.Millisecond, 100), row("etcd", time.Millisecond, 50)
	far.Case, other.Case = c, c
	far.Samples[0].Switch = 0.25
	r := &report.Report{Compared: []*report.Row{row("holdfast", time.Millisecond, 80), far, other},
		Networks: []report.Network{{Nodes: 3, Delay: c.Delay, Echoes: network.Echoes{Count: 7, P50: 512_345, Lost: 2}}}}
	text := strings.Join(strings.Fields(r.Text("")), " ")
	for _, want := range []string{
		"3 nodes, 500µs: echoes took 512µs (median), 0s (p99), 0s at most; 2 lost",
		"1 - 1 80.0 1.00 -", "3 0.500 1 100 3.00 2.00",
		"1 - pairs 1 holdfast 80.0 1.00 0.000 0.000 1000 - 1", "3 0.500 pairs 1 holdfast 100 3.00 0.000 0.000 1000 25.0 1",
		"3 0.500 pairs 1 holdfast etcd 2.00 3.00 - 1.00",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, r.Text(""))
		}
	}
}

func TestChart(t *testing.T) {
	c := &report.Chart{Title: "a < b", X: "x", Y: "y", Lines: []report.Line{
		{Name: "line", Points: []report.Point{{X: 1, Y: 10}, {X: 512, Y: 60_000}}},
	}}
	svg := c.SVG()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, svg)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || !strings.Contains(svg, ">10k<") ||
		!strings.Contains(svg, ">512<") {
		t.Errorf("the chart is:\n%s", svg)
	}
}

// measured returns a row with latencies.
func measured(t *testing.T, c report.Case) *report.Row {
	t.Helper()
	r := row("holdfast", time.Millisecond, 100)
	r.Case = c
	synctest.Test(t, func(t *testing.T) {
		result, err := load.Run(t.Context(), load.Plan{Workers: 1, For: time.Second}, func(int) load.Work {
			return func(_ context.Context, m *load.Meter) error {
				return m.Time(messages.OpAcquire, func() error { <-time.After(time.Millisecond); return nil })
			}
		})
		if err != nil {
			t.Error(err)
		}
		r.Latencies = result.Latencies[messages.OpAcquire]
	})
	return r
}

// A report is written to a page between its comments, with the plots and tables for which there are figures beside it.
// Written again, it replaces itself.
func TestPage(t *testing.T) {
	more, shards, resources, connections := pairs, pairs, pairs, pairs
	more.Clients, shards.Shards, resources.Resources, connections.Connections = 64, 4, 1000, 300
	one := measured(t, pairs)
	rested := measured(t, resources)
	one.Rest = report.Rest{Resident: 50e6, Busy: 0.015, Opening: 100 * time.Millisecond}
	rested.Rest = report.Rest{Resident: 60e6, Busy: 0.02, Opening: 200 * time.Millisecond}
	r := &report.Report{Machine: "a machine", Command: "a command", Versions: []string{"a version"},
		Compared:    []*report.Row{one, measured(t, more)},
		Resources:   []*report.Row{one, rested},
		Shards:      []*report.Row{measured(t, shards)}, // one point makes no line
		Connections: []*report.Row{measured(t, connections)},
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("above\n<!-- bench-peers: begin -->\n<!-- bench-peers: end -->\nbelow\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 2 {
		if err := r.WritePage(page, ""); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] || !strings.HasPrefix(texts[0], "above\n<!--") ||
		!strings.HasSuffix(texts[0], "-->\nbelow\n") {
		t.Errorf("the pages are:\n%s\n%s", texts[0], texts[1])
	}
	for _, want := range []string{"\na machine\n", "\n    a command\n", "\n- a version\n"} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("%q is missing in:\n%s", want, texts[0])
		}
	}
	for name, want := range map[string]string{
		"medians":     "\n1,pairs,64,holdfast,100,1.00,0.000,0.000,1000,1\n",
		"resources":   "\n1000,1,holdfast,100,-,1000,60.0,2.00,0.200\n",
		"shards":      "\n4,1,holdfast,100,",
		"connections": "\n300,1,holdfast,100,",
	} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(page), "page", name+".csv"))
		if err != nil || !strings.Contains(string(data), want) ||
			!strings.Contains(texts[0], "\n- ["+name+".csv](page/"+name+".csv): ") {
			t.Errorf("the table %s: %v, want %q in:\n%s\nthe page is:\n%s", name, err, want, data, texts[0])
		}
	}
	if strings.Contains(texts[0], "ratios.csv") {
		t.Error("there is a table without a row")
	}
	for _, plot := range []string{"rate-1", "latency-1", "resources", "resources-memory", "resources-rest",
		"resources-opening"} {
		svg, err := os.ReadFile(filepath.Join(filepath.Dir(page), "page", plot+".svg"))
		if err != nil || !strings.HasPrefix(string(svg), "<svg") || !strings.Contains(texts[0], "(page/"+plot+".svg)") {
			t.Errorf("the plot %s: %v, %d bytes; the page is:\n%s", plot, err, len(svg), texts[0])
		}
	}
	if strings.Contains(texts[0], "shards.svg") {
		t.Error("there is a plot without a line")
	}
}

// A page that does not have both comments in their order is left alone.
func TestPageWithoutComments(t *testing.T) {
	const begin, end = "<!-- bench-peers: begin -->\n", "<!-- bench-peers: end -->\n"
	for name, text := range map[string]string{"None": "text\n", "NoEnd": begin, "NoBegin": end,
		"EndFirst": end + begin} {
		t.Run(name, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "page.md")
			if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := new(report.Report).WritePage(page, ""); err == nil || !strings.Contains(err.Error(), "comments") {
				t.Errorf("got %v, want an error that names the comments", err)
			}
			if got, err := os.ReadFile(page); err != nil || string(got) != text {
				t.Errorf("the page is %q, %v, want %q as before", got, err, text)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), "page")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("got %v, want no folder of plots", err)
			}
		})
	}
}
