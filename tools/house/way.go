package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// wayOf reads what one acquire has executed: the files, those of them with several functions, and the functions that
// belong to features which it does not use, by their names.
func wayOf(coverage string, t *tree) ([]row, error) {
	executed, err := executed(coverage)
	if err != nil {
		return nil, err
	}
	functions, ofFeatures, perFile := 0, make([]string, 0), make(map[string]int)
	for _, name := range sorted(executed) {
		content, ok := t.files[name]
		if !ok || kindOf(name) != product {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, content, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !executed[name].within(set.Position(fn.Pos()).Line,
				set.Position(fn.End()).Line) {
				continue
			}
			functions++
			perFile[name]++
			full := fn.Name.Name
			if fn.Recv != nil {
				full = receiver(fn.Recv.List[0].Type) + "." + full
			}
			if feature.MatchString(strings.TrimSuffix(name[strings.LastIndex(name, "/")+1:], ".go")) ||
				feature.MatchString(full) {
				ofFeatures = append(ofFeatures, name+": "+full)
			}
		}
	}
	several := 0
	for _, n := range perFile {
		if n >= 4 {
			several++
		}
	}
	return []row{
		{"files executed by a lone acquire / with four functions or more", join(len(perFile), several),
			byCount(perFile)},
		{"functions executed / of features that it does not use", join(functions, len(ofFeatures)), ofFeatures},
	}, nil
}

// feature finds names of what a plain acquire of an exclusive lock does not use. Some names have another meaning as
// well, so the number is for comparison.
var feature = regexp.MustCompile(
	`(?i)tenant|traces?$|tracing|span|session|identity|verif|batch(ed|es|ing)|shar(e|ed|ing)\b|permit|` +
		`downgrade|losts?$|loss(es)?$|delay|secret|ephemeral|disconnect|quota|survey|election|watch|hint|tombstone|handover|holdsback`)

// ranges are the executed lines of a file.
type ranges [][2]int

func (r ranges) within(first, last int) bool {
	for _, x := range r {
		if first <= x[0] && x[1] <= last {
			return true
		}
	}
	return false
}

// executed reads a text profile: lines like module/file.go:1.2,3.4 statements count.
func executed(profile string) (map[string]ranges, error) {
	f, err := os.Open(profile) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	files := make(map[string]ranges)
	for s := bufio.NewScanner(f); s.Scan(); {
		m := block.FindStringSubmatch(s.Text())
		if m == nil || m[4] == "0" {
			continue
		}
		first, _ := strconv.Atoi(m[2])
		last, _ := strconv.Atoi(m[3])
		files[m[1]] = append(files[m[1]], [2]int{first, last})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no executed line of %s", profile, module)
	}
	return files, nil
}

var block = regexp.MustCompile(`^` + regexp.QuoteMeta(module) + `([^:]+):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)
