package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxNotes is the number of lines above which nobody reads the notes of a release.
const maxNotes = 60

// notes returns the section of a version in a changelog, without empty lines at its ends. Its heading is
// "## [0.1.0]" or "## 0.1.0", with or without a date behind it.
func notes(changelog, version string) (string, error) {
	number := strings.TrimPrefix(version, "v")
	var section []string
	found := false
	for line := range strings.Lines(changelog) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			if found {
				break
			}
			fields := strings.Fields(heading)
			found = len(fields) > 0 && strings.Trim(fields[0], "[]") == number
		}
		if found {
			section = append(section, strings.TrimRight(line, "\n"))
		}
	}
	text := strings.TrimSpace(strings.Join(section, "\n"))
	switch lines := strings.Count(text, "\n") + 1; {
	case !found:
		return "", fmt.Errorf("CHANGELOG.md has no section %q; write what users get with it", "## ["+number+"]")
	case lines == 1:
		return "", fmt.Errorf("the section of %s in CHANGELOG.md is empty; write what users get with it", number)
	case lines > maxNotes:
		return "", fmt.Errorf("the section of %s in CHANGELOG.md has %d lines, and may have %d; leave out what users do not notice",
			number, lines, maxNotes)
	}
	return text + "\n", nil
}

func writeNotes(tree, version, name string) error {
	changelog, err := os.ReadFile(filepath.Join(tree, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	text, err := notes(string(changelog), version)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
