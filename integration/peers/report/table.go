package report

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-io/holdfast/integration/peers/peer"
)

// table has a header and rows of cells.
type table [][]string

// plain returns the table for a terminal.
func (t table) plain() string { return t.text("  ", "") }

// markdown returns the table in Markdown, which is readable as text too.
func (t table) markdown() string { return t.text(" | ", "|") }

// csv returns the table as comma-separated values.
func (t table) csv() string {
	var b strings.Builder
	_ = csv.NewWriter(&b).WriteAll(t) // a builder takes everything
	return b.String()
}

// text aligns the first cells of a row, which are names, to the left, and numbers to the right.
func (t table) text(gap, edge string) string {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for c, cell := range row {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range t {
		line := make([]string, len(row))
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if t.isName(c) {
				line[c] = cell + pad
			} else {
				line[c] = pad + cell
			}
		}
		b.WriteString(frame(edge, strings.Join(line, gap)))
		if n == 0 && edge != "" {
			b.WriteString(frame(edge, strings.Join(t.rule(widths), gap)))
		}
	}
	return b.String()
}

func frame(edge, line string) string {
	if edge == "" {
		return strings.TrimRight(line, " ") + "\n"
	}
	return edge + " " + line + " " + edge + "\n"
}

// isName reports whether no cell below the header begins with a digit.
func (t table) isName(column int) bool {
	for _, row := range t[1:] {
		if strings.IndexAny(row[column], "0123456789") == 0 {
			return false
		}
	}
	return true
}

func (t table) rule(widths []int) []string {
	rule := make([]string, len(widths))
	for c, width := range widths {
		rule[c] = strings.Repeat("-", max(width-1, 1)) + ":"
		if t.isName(c) {
			rule[c] = strings.Repeat("-", max(width, 1))
		}
	}
	return rule
}

// measurements returns a line for each row.
func measurements(rows []*Row) table {
	t := table{{"nodes", "RTT ms", "workload", "clients", "peer", "a second", "p50 ms", "p99 ms", "p99.9 ms", "server µs each",
		"switch %", "rounds"}}
	for _, r := range rows {
		line := []string{strconv.Itoa(r.Nodes), known(1e3 * r.Delay.Seconds()), string(r.Workload), strconv.Itoa(r.Clients), r.Peer}
		if len(r.Samples) == 0 {
			state := "-" // the run was interrupted
			if r.Err != nil {
				state = "failed"
			}
			t = append(t, append(line, state, "-", "-", "-", "-", "-", "0"))
			continue
		}
		line = append(line, number(r.Median(Rate)))
		for _, figure := range []func(Sample) float64{P50, P99, P999} {
			line = append(line, number(1e3*r.Median(figure)))
		}
		t = append(t, append(line, known(1e6*r.Median(CPU)), known(100*r.Median(Switch)),
			strconv.Itoa(len(r.Samples))))
	}
	return t.without("RTT ms").without("switch %")
}

// without leaves out a column in which nothing is known.
func (t table) without(name string) table {
	c := slices.Index(t[0], name)
	if slices.ContainsFunc(t[1:], func(row []string) bool { return row[c] != "-" }) {
		return t
	}
	for i, row := range t {
		t[i] = slices.Delete(row, c, c+1)
	}
	return t
}

// sweep returns a line for each row of Holdfast with different settings.
func sweep(rows []*Row, setting string, value func(*Row) int) table {
	t := table{{setting, "clients", "peer", "a second", "p99 ms", "server µs each", "MB at rest",
		"% of a core at rest", "opens in s"}}
	for _, r := range rows {
		t = append(t, []string{strconv.Itoa(value(r)), strconv.Itoa(r.Clients), r.Peer,
			known(r.Median(Rate)), known(1e3 * r.Median(P99)), known(1e6 * r.Median(CPU)),
			known(r.Rest.megabytes()), known(100 * r.Rest.Busy), known(r.Rest.Opening.Seconds())})
	}
	return t
}

// rivals are with what each way to use Holdfast is compared, in this order.
var rivals = map[string][]string{
	"holdfast":    {"etcd", "redis", "kv", "nats", "publish"},
	"holdfast-go": {"redis-rueidis", "nats"},
}

// ratios returns how many times another peer's figures those of Holdfast are. against is the name of an older Holdfast;
// empty: there is none.
func ratios(rows []*Row, against string) table {
	t := table{{"nodes", "RTT ms", "workload", "clients", "peer", "against", "rate ×", "p50 ×", "p99 ×", "server time ×"}}
	for _, r := range rows {
		others := rivals[r.Peer]
		if strings.HasPrefix(r.Peer, sharded) {
			others = rivals["holdfast"]
		}
		if r.Peer == "holdfast" && against != "" {
			others = append([]string{against}, others...)
		}
		for _, name := range others {
			other := find(rows, r.Case, name)
			if other == nil || len(r.Samples) == 0 {
				continue
			}
			line := []string{strconv.Itoa(r.Nodes), known(1e3 * r.Delay.Seconds()), string(r.Workload),
				strconv.Itoa(r.Clients), r.Peer, name}
			for _, figure := range []func(Sample) float64{Rate, P50, P99, CPU} {
				line = append(line, known(r.Over(other, figure)))
			}
			t = append(t, line)
		}
	}
	return t.without("RTT ms")
}

// lone returns a sentence about the latency of one client on one node; empty if something of it is not measured.
func lone(rows []*Row) string {
	for _, r := range rows {
		if r.Peer != "holdfast" || r.Nodes != 1 || r.Workload != peer.Pairs || r.Clients != 1 || r.Delay > 0 {
			continue
		}
		request, sync := find(rows, r.Case, "nats"), find(rows, r.Case, "fsync")
		if request == nil || sync == nil || len(r.Samples) == 0 {
			return ""
		}
		least := request.Median(P50) + sync.Median(P50)
		return fmt.Sprintf(
			"The p50 of a lone acquire is %s ms, %s times that of a bare request (%s ms) plus that of an fsync (%s "+
				"ms).\n",
			number(1e3*r.Median(P50)), number(r.Median(P50)/least), number(1e3*request.Median(P50)),
			number(1e3*sync.Median(P50)))
	}
	return ""
}

// number formats a figure with three significant digits, and whole ones in full.
func number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// known is number for a figure of which 0 means that it is not known.
func known(v float64) string {
	if v == 0 {
		return "-"
	}
	return number(v)
}
