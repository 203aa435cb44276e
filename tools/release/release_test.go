package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for given, want := range map[string][2]string{
		"v1.2.3":         {"v1.2.3", "1.2.3"},
		"0.1.0-rc.1":     {"v0.1.0-rc.1", "0.1.0rc1"},
		"v0.1.0-alpha.2": {"v0.1.0-alpha.2", "0.1.0a2"},
		"0.1.0-beta.10":  {"v0.1.0-beta.10", "0.1.0b10"},
	} {
		version, err := parseVersion(given)
		if err != nil || version != want[0] || python(version) != want[1] {
			t.Errorf("parseVersion(%q) = %q, %v, for Python %q, want %q", given, version, err, python(version), want)
		}
	}
	for _, bad := range []string{"", "v", "1.2", "v2.0.0", "vv1.2.3", "1.2.3-x", "1.2.3-rc1", "1.2.3-rc.01", "01.2.3",
		"1.2.3+4", "1.2.3\n"} {
		if version, err := parseVersion(bad); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("parseVersion(%q) = %q, %v, want an error that quotes it", bad, version, err)
		}
	}
}

func TestNotes(t *testing.T) {
	changelog := "# Changelog\n\n## [Unreleased]\n\n- not yet\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- a\n\n" +
		"## 0.1.0\n\n- b\n\n## [0.0.2]\n\n## [0.0.1]\n" + strings.Repeat("- c\n", maxNotes)
	for version, want := range map[string]string{
		"v0.2.0": "## [0.2.0] - 2026-12-01\n\n### Added\n\n- a\n",
		"0.1.0":  "## 0.1.0\n\n- b\n",
	} {
		if got, err := notes(changelog, version); err != nil || got != want {
			t.Errorf("notes of %s: %q, %v, want %q", version, got, err, want)
		}
	}
	for version, want := range map[string]string{
		"v0.2":         `no section "## [0.2]"`,
		"v0.2.0-rc.1":  `no section "## [0.2.0-rc.1]"`,
		"v0.0.2":       "is empty",
		"v0.0.1":       "has 61 lines, and may have 60",
		"v.Unreleased": "no section",
	} {
		if got, err := notes(changelog, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("notes of %s: %q, %v, want an error with %q", version, got, err, want)
		}
	}
	just := strings.TrimSuffix(changelog, "- c\n")
	if got, err := notes(just, "0.0.1"); err != nil || strings.Count(got, "\n") != maxNotes {
		t.Errorf("notes of %d lines: %q, %v", maxNotes, got, err)
	}
}

// The packages of this repository have their versions where stampClients looks for them.
func TestStampClients(t *testing.T) {
	tree := t.TempDir()
	files := []string{"clients/typescript/package.json", "clients/typescript/package-lock.json",
		"clients/python/pyproject.toml", "clients/python/src/holdfast_client/__init__.py",
		"clients/java/pom.xml", "clients/java/holdfast-bom/pom.xml", "clients/java/holdfast-client/pom.xml"}
	before := map[string]string{}
	for _, name := range files {
		before[name] = copyFile(t, filepath.Join("../..", name), filepath.Join(tree, name))
	}
	if err := stampClients(tree, "v1.8.9-rc.10"); err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		want, places := "1.8.9-rc.10", []int{1, 2, 1, 1, 1, 1, 1}[i]
		if strings.HasPrefix(name, "clients/python") {
			want = "1.8.9rc10"
		}
		content, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		lines := strings.Split(before[name], "\n")
		for j, line := range strings.Split(string(content), "\n") {
			if line != lines[j] {
				changed++
				if !strings.Contains(line, `"`+want+`"`) && !strings.Contains(line, "<version>"+want+"</version>") {
					t.Errorf("%s:%d: %q, want the version %s", name, j+1, line, want)
				}
			}
		}
		if changed != places {
			t.Errorf("%s: %d lines changed, want %d", name, changed, places)
		}
	}
	if err := os.WriteFile(filepath.Join(tree, files[2]), []byte("[project]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := stampClients(tree, "v1.8.9"); err == nil || !strings.Contains(err.Error(), files[2]) {
		t.Errorf("a package without a version: %v", err)
	}
}

func copyFile(t *testing.T, from, to string) string {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
