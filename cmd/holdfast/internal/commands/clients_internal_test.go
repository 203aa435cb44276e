package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// client is a column of the table of the clients.
type client struct {
	// names are those that a program of the language can use, options those of one lock, in their order.
	names, options []string
	// other are options that no row has.
	other []string
}

// exported returns the names of the first group of a pattern in the files that match.
func exported(t *testing.T, files, pattern string) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(docs, "..", files))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file is %s: %v", files, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(path, "_test.go") {
			all = append(all, words(string(text), pattern)...)
		}
	}
	return all
}

// flagsOf are the flags of a command, as they are written.
func flagsOf(name string) (all []string) {
	root := newRoot(&Program{})
	command, _, _ := root.Find([]string{name})
	command.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, "--"+f.Name) })
	return all
}

// clientsOf are the columns of the table, from the second one on.
func clientsOf(t *testing.T) map[string]client {
	t.Helper()
	const typescript, python = "clients/typescript/src/", "clients/python/src/holdfast_client/"
	const java = "clients/java/holdfast-client/src/main/java/io/github/holdfastio/holdfast/"
	member := func(kind string) string { return `(?s)^.*?` + kind + `(.*?)\n(?:\}|\n\n)` }
	in := func(files, kind, pattern string) []string {
		return words(strings.Join(exported(t, files, member(kind)), "\n"), pattern)
	}
	const method, definition = `(?m)^  (?:async |get )*(\w+)[(<]`, `(?m)^ {4,8}(?:async )?(?:def )?([a-z]\w*)[(:]`
	const public = `(?m)^    public .*?(\w+)\(`
	return map[string]client{
		"Go": {
			names:   exported(t, "clients/holdfast/*.go", `(?m)^func (?:\(\w+ \*\w+\) )?([A-Z]\w*)\(`),
			options: exported(t, "clients/holdfast/*.go", `(?m)^func ([A-Z]\w*)\([^)]*\) AcquireOption \{`),
			other:   []string{"Owner"},
		},
		"TypeScript": {
			names: slices.Concat(exported(t, typescript+"index.ts", `\b(\w+)(?:,| \})`),
				exported(t, typescript+"options.ts", `(?m)^  (\w+)\?:`),
				exported(t, typescript+"client.ts", method), exported(t, typescript+"lock.ts", method)),
			options: in(typescript+"options.ts", `export interface LockOptions \{`, `(?m)^  (\w+)\?:`),
			other:   []string{"signal"},
		},
		"Python": {
			names:   slices.Concat(exported(t, python+"_client.py", definition), exported(t, python+"_lock.py", definition)),
			options: in(python+"_options.py", `class LockOptions\(TypedDict, total=False\):`, `(?m)^    (\w+): `),
		},
		"Java": {
			names: slices.Concat(exported(t, java+"Client.java", public), exported(t, java+"Lock.java", public),
				exported(t, java+"ClientOptions.java", public)),
			options: exported(t, java+"LockOptions.java", `(?m)^    public LockOptions (\w+)\(`),
		},
		"command": {
			names:   slices.Concat(flagsOf("lock"), flagsOf("elect"), commandsOf()),
			options: flagsOf("lock"),
			other: slices.Concat(flagsOf("get"), []string{"--all", "--busy-code", "--grace", "--lost-code", "--on-lost", "--owner",
				"--quiet", "--shell", "--unavailable-code", "--verbose", "--watchdog"}),
		},
	}
}

func commandsOf() (all []string) {
	for _, c := range newRoot(&Program{}).Commands() {
		all = append(all, c.Name())
	}
	return all
}

// Each name of the tables is one that the client has, and each option of a lock is in a table. Each language has a name
// in each row.
func TestClientsHaveWhatThePageSays(t *testing.T) {
	columns := []string{"Go", "TypeScript", "Python", "Java", "command"}
	first := regexp.MustCompile(`^(?:holdfast )?(-*\w[\w-]*)`)
	documented := map[string][]string{}
	head := "\n| you want | " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)+1) + "\n"
	tables := strings.Split(pageOf(t, "choose.md"), head)
	for _, rows := range tables[1:] {
		rows, _, _ = strings.Cut(rows, "\n\n")
		for _, row := range strings.Split(rows, "\n") {
			cells := strings.Split(row, " | ")
			if len(cells) != len(columns)+1 {
				t.Fatalf("the row has %d cells: %s", len(cells), row)
			}
			for i, column := range columns {
				codes := words(cells[i+1], "`([^`]+)`")
				if len(codes) == 0 && column != "command" {
					t.Errorf("%s: nothing in the row %s", column, cells[0])
				}
				for _, code := range codes {
					documented[column] = append(documented[column], first.FindStringSubmatch(code)[1])
				}
			}
		}
	}
	for column, c := range clientsOf(t) {
		if len(documented[column]) < 20 || len(c.options) < 12 {
			t.Errorf("%s: %d names and %d options were found: the test is vacuous", column, len(documented[column]), len(c.options))
		}
		for _, name := range documented[column] {
			if !slices.Contains(c.names, name) && !slices.Contains(c.options, name) {
				t.Errorf("%s: the tables have %q, and the client does not", column, name)
			}
		}
		for _, option := range c.options {
			if !slices.Contains(documented[column], option) && !slices.Contains(c.other, option) {
				t.Errorf("%s: the tables lack %q", column, option)
			}
		}
	}
}
