package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

const module = "github.com/holdfast-io/holdfast/"

// circles counts the circles of files in the clients of other languages, where each file is a module, and of the
// folders at the top, where the imports of Go count, also of its tests.
func (t *tree) circles() []row {
	folders := make(graph)
	for name, content := range t.files {
		if path.Ext(name) != ".go" || strings.HasPrefix(name, "integration/") {
			continue
		}
		top, _, _ := strings.Cut(name, "/")
		for _, m := range goImport.FindAllSubmatch(content, -1) {
			to, _, _ := strings.Cut(string(m[1]), "/")
			if to != "integration" { // it imports everything, and is part of the tests of all
				folders.add(top, to)
			}
		}
	}
	languages := make(graph)
	for name, content := range t.files {
		if kindOf(name) != language {
			continue
		}
		for _, m := range fileImport.FindAllSubmatch(content, -1) {
			for _, to := range t.resolve(name, string(m[1])+string(m[2]), string(m[3])) {
				languages.add(name, to)
			}
		}
	}
	return []row{
		circleRow("circles of files in TypeScript and Python", languages.circles()),
		circleRow("circles of folders", folders.circles()),
	}
}

var (
	goImport = regexp.MustCompile(`(?m)^\s*(?:import )?(?:\w+ )?"` + regexp.QuoteMeta(module) + `([^"]+)"$`)
	// fileImport finds from "./key.js" of TypeScript, and from ._key import … and from . import … of Python.
	fileImport = regexp.MustCompile(`(?m)(?:from ["'](\./[^"']+)["'];?$|^\s*from (\.+\w*) import ([^\n]*))`)
)

// resolve returns the files that an import names.
func (t *tree) resolve(file, from, names string) (found []string) {
	dir := path.Dir(file)
	if strings.HasPrefix(from, "./") {
		return t.existing(path.Join(dir, strings.TrimSuffix(from, ".js")+".ts"))
	}
	for strings.HasPrefix(from, "..") {
		dir, from = path.Dir(dir), from[1:]
	}
	if from = from[1:]; from != "" {
		return t.existing(path.Join(dir, from+".py"))
	}
	for name := range strings.SplitSeq(names, ",") {
		found = append(found, t.existing(path.Join(dir, strings.TrimSpace(name)+".py"))...)
	}
	return found
}

func (t *tree) existing(name string) []string {
	if _, ok := t.files[name]; ok {
		return []string{name}
	}
	return nil
}

func circleRow(name string, circles [][]string) row {
	r := row{name: name, value: count(len(circles))}
	for _, c := range circles {
		r.details = append(r.details, fmt.Sprintf("%d: %s", len(c), strings.Join(c, " ")))
	}
	return r
}
