package report

import (
	"fmt"
	"strings"
)

// section is a part of the report: a table, a sentence about it, and the name of its file beside a page, if it has one.
type section struct {
	file, title string
	table       table
}

func (r *Report) sections(against string) []section {
	all := []section{
		{"medians.csv", "Medians.", measurements(r.Compared)},
		{"ratios.csv", "Ratios within a round: above 1 is good for the rate, below 1 for all others.",
			ratios(r.Compared, against)},
		{"shards.csv", "Pairs with different numbers of shards.",
			sweep(r.Shards, "shards", func(r *Row) int { return r.Shards })},
		{"resources.csv", "Pairs on different numbers of resources.",
			sweep(r.Resources, "resources", func(r *Row) int { return r.Resources })},
		{"connections.csv", "Different numbers of clients with a connection each, which share a small load.",
			sweep(r.Connections, "connections", func(r *Row) int { return r.Connections })},
	}
	var some []section
	for _, s := range all {
		if len(s.table) > 1 {
			some = append(some, s)
		}
	}
	return some
}

// Text returns the report for a terminal. against is the name of an older Holdfast; empty: there is none.
func (r *Report) Text(against string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", r.Machine, strings.Join(r.Versions, "\n"))
	for _, n := range r.Networks {
		fmt.Fprintln(&b, n)
	}
	for _, s := range append(r.summary(), r.sections(against)...) {
		fmt.Fprintf(&b, "\n%s\n\n%s", s.title, s.table.plain())
	}
	if text := r.sentences(); text != "" {
		b.WriteString("\n" + text)
	}
	return b.String()
}

// Markdown returns the report for a page that lies beside a folder of the plots and the tables: what a reader wants to
// know first, how it was measured, and where all figures are.
func (r *Report) Markdown(against, folder string, plots []Plot) string {
	var b strings.Builder
	for _, s := range r.summary() {
		fmt.Fprintf(&b, "%s\n\n%s\n", s.title, s.table.markdown())
	}
	b.WriteString(r.sentences() + r.origin())
	b.WriteString("All figures:\n\n")
	for _, s := range r.sections(against) {
		fmt.Fprintf(&b, "- [%s](%s/%s): %s\n", s.file, folder, s.file, s.title)
	}
	b.WriteString("\n")
	for _, p := range plots {
		fmt.Fprintf(&b, "![%s](%s/%s)\n\n", p.Chart.Title, folder, p.File)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// sentences returns those about single figures.
func (r *Report) sentences() string {
	var b strings.Builder
	for _, text := range []string{lone(r.Compared), r.rest()} {
		if text != "" {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// origin returns what was measured, where and how, in Markdown.
func (r *Report) origin() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n    %s\n\n", r.Machine, r.Command)
	for _, version := range r.Versions {
		fmt.Fprintf(&b, "- %s\n", version)
	}
	for _, n := range r.Networks {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	return b.String() + "\n"
}
