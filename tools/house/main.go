// Command house measures the structure of the repository: how much of it there is, how big its objects are, how its
// files depend on one another, and what a lone acquire runs through. The table is what a reading of the whole begins
// with.
//
// Run it from its own module: cd tools && go run ./house [-acquire dir] [-field pattern] [-v] tree
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	acquire := flag.String("acquire", "",
		"`file` with the coverage of one acquire, as go tool covdata textfmt writes it")
	field := flag.String("field", "",
		"regular `expression` for the names of a field of the contract: count the files that have one")
	verbose := flag.Bool("v", false, "also print what is counted")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: house [-acquire file] [-field expression] [-v] tree")
		os.Exit(2)
	}
	rows, err := measure(flag.Arg(0), *acquire, *field)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	show(os.Stdout, rows, *verbose)
}

// row is one line of the table. details are what is counted, for a closer look.
type row struct {
	name, value string
	details     []string
}

func measure(dir, acquire, field string) ([]row, error) {
	t, err := read(dir)
	if err != nil {
		return nil, err
	}
	rows := t.sizes()
	packages, err := t.load()
	if err != nil {
		return nil, err
	}
	rows = append(append(rows, objects(packages), arrows(packages)), t.circles()...)
	if acquire != "" {
		way, err := wayOf(acquire, t)
		if err != nil {
			return nil, err
		}
		rows = append(rows, way...)
	}
	if field != "" {
		r, err := t.mentions(field)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func show(to io.Writer, rows []row, verbose bool) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", r.name, r.value)
		if verbose && len(r.details) > 0 {
			_, _ = fmt.Fprintf(w, "    %s\n", strings.Join(r.details, "\n    "))
		}
	}
	_ = w.Flush()
}
