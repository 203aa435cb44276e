package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// versionForm is that of a release, or of one before it.
var versionForm = regexp.MustCompile(`^v[01]\.\d+\.\d+(?:-(alpha|beta|rc)\.(\d+))?$`)

// python returns a version as Python's packages have it: 1.2.3rc1 for v1.2.3-rc.1.
func python(version string) string {
	m := versionForm.FindStringSubmatchIndex(version)
	if m[2] < 0 {
		return version[1:]
	}
	letter := map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[version[m[2]:m[3]]]
	return version[1:m[2]-1] + letter + version[m[4]:]
}

// stampClients writes the version into the packages of the clients that are no Go modules.
func stampClients(tree, version string) error {
	const (
		npm   = `("name": "@holdfast-io/client",\s+"version": ")[^"]*`
		maven = `(<artifactId>holdfast-parent</artifactId>\s+<version>)[^<]*`
	)
	type file struct {
		name, pattern string // the pattern's group stays, and what follows it is replaced
		places        int
		version       string
	}
	files := []file{
		{"clients/typescript/package.json", npm, 1, version[1:]},
		{"clients/typescript/package-lock.json", npm, 2, version[1:]},
		{"clients/python/pyproject.toml", `(?m)(^version = ")[^"]*`, 1, python(version)},
		{"clients/python/src/holdfast_client/__init__.py", `(?m)(^__version__ = ")[^"]*`, 1, python(version)},
		{"clients/java/pom.xml", maven, 1, version[1:]},
	}
	modules, err := filepath.Glob(filepath.Join(tree, "clients/java/*/pom.xml"))
	if err != nil {
		return err
	}
	for _, module := range modules {
		files = append(files, file{strings.TrimPrefix(module, tree), maven, 1, version[1:]})
	}
	for _, f := range files {
		name, pattern := filepath.Join(tree, f.name), regexp.MustCompile(f.pattern)
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if n := len(pattern.FindAll(content, -1)); n != f.places {
			return fmt.Errorf("%s has its version in %d places, want %d that match %s", f.name, n, f.places, f.pattern)
		}
		content = pattern.ReplaceAll(content, []byte("${1}"+f.version))
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
