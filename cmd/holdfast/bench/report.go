package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// report is the result as --json prints it.
type report struct {
	Clients     int     `json:"clients"`
	Connections int     `json:"connections"`
	Resources   int     `json:"resources"`
	Seconds     float64 `json:"seconds"`
	// Pairs is the number of locks that were acquired and released, Rate that in a second.
	Pairs    int64     `json:"pairs"`
	Rate     float64   `json:"rate"`
	Acquire  latencies `json:"acquire"`
	Release  latencies `json:"release"`
	Failures []failure `json:"failures"`
}

// latencies of the calls of one operation that succeeded, in milliseconds.
type latencies struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
}

type failure struct {
	Operation messages.Operation `json:"operation"`
	Code      string             `json:"code"`
	Count     uint64             `json:"count"`
}

func (b *bench) report(r *load.Result) *report {
	acquire, release := r.Latencies[messages.OpAcquire], r.Latencies[messages.OpRelease]
	s := &report{
		Clients: b.clients.Value, Connections: min(b.connections.Value, b.clients.Value), Resources: b.resources.Value,
		Seconds: rounded(r.Elapsed.Seconds()), Pairs: release.Count(), Rate: rounded(r.Rate(messages.OpRelease)),
		Acquire: latenciesOf(acquire), Release: latenciesOf(release), Failures: []failure{},
	}
	for kind, count := range r.Failures {
		s.Failures = append(s.Failures, failure{kind.Op, kind.Code, count})
	}
	slices.SortFunc(s.Failures, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Code, b.Code))
	})
	return s
}

func latenciesOf(l *load.Latencies) latencies {
	ms := func(q float64) float64 { return rounded(l.Quantile(q).Seconds() * 1000) }
	return latencies{Count: l.Count(), P50: ms(0.5), P99: ms(0.99), P999: ms(0.999), Max: ms(1)}
}

func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// print writes the report. If there were failures and no success, it returns an error that has been reported by that.
func (r *report) print(out io.Writer, asJSON bool) error {
	text := r.text
	if asJSON {
		text = r.line
	}
	if _, err := io.WriteString(out, text()); err != nil {
		return fmt.Errorf("cannot print the result: %w", err)
	}
	if r.Pairs == 0 && len(r.Failures) > 0 {
		return &exit.Error{Code: exit.Unavailable}
	}
	return nil
}

func (r *report) line() string {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has numbers and codes only
	}
	return string(line) + "\n"
}

func (r *report) text() string {
	text := fmt.Sprintf(
		"%d pairs of acquire and release in %s: %.0f/s, with %d clients on %d connections and %d resources\n\n",
		r.Pairs, display.Duration(time.Duration(r.Seconds*float64(time.Second))), r.Rate, r.Clients, r.Connections,
		r.Resources)
	calls := display.Table{
		{Cells: []string{"OPERATION"}}, {Cells: []string{"COUNT"}, Right: true}, {Cells: []string{"P50"}, Right: true},
		{Cells: []string{"P99"}, Right: true}, {Cells: []string{"P99.9"}, Right: true},
		{Cells: []string{"MAX"}, Right: true},
	}
	calls.Add(r.Acquire.row("acquire"))
	calls.Add(r.Release.row("release"))
	text += calls.Text(0)
	if len(r.Failures) == 0 {
		return text
	}
	failed := display.Table{{Cells: []string{"FAILED"}}, {Cells: []string{"CODE"}},
		{Cells: []string{"COUNT"}, Right: true}}
	for _, f := range r.Failures {
		failed.Add([]string{string(f.Operation), f.Code, strconv.FormatUint(f.Count, 10)})
	}
	return text + "\n" + failed.Text(0)
}

func (l latencies) row(name string) []string {
	row := []string{name, strconv.FormatInt(l.Count, 10)}
	for _, ms := range []float64{l.P50, l.P99, l.P999, l.Max} {
		row = append(row, strconv.FormatFloat(ms, 'f', 2, 64)+"ms")
	}
	return row
}
