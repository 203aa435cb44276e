package commands

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each alert names its runbook, which is a heading of the page, and each runbook of an alert has one.
func TestRunbooksOfTheAlerts(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(repository, "deploy/prometheus/holdfast.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	alerts := map[string]bool{}
	for _, rule := range strings.Split(string(rules), "- alert: ")[1:] {
		name, rest, _ := strings.Cut(rule, "\n")
		alerts[name] = true
		const page = "https://github.com/holdfast-io/holdfast/blob/main/docs/runbooks.md#"
		if want := "runbook_url: " + page + strings.ToLower(name) + "\n"; !strings.Contains(rest, want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	_, section, _ := strings.Cut(pageOf(t, "runbooks.md"), "\n## Alerts\n")
	section, _, _ = strings.Cut(section, "\n## ")
	wantSame(t, "alerts", words(section, `(?m)^### (\w+)$`), slices.Collect(maps.Keys(alerts)))
}

// Each text that the runbooks look for in the log is in the code.
func TestLogLinesOfTheRunbooks(t *testing.T) {
	lines := words(pageOf(t, "runbooks.md"), "journalctl -u holdfast \\| grep '([^'`]+)'")
	if len(lines) < 5 {
		t.Fatalf("the runbooks look for %q: the test is vacuous", lines)
	}
	var code strings.Builder
	sources(t, []string{".go"}, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			code.WriteString(text)
		}
	})
	for _, line := range lines {
		if !regexp.MustCompile(`"[^"\n]*` + regexp.QuoteMeta(line)).MatchString(code.String()) {
			t.Errorf("no text of the log has %q", line)
		}
	}
}

// Each text of the table of words is in the code or in the alerts.
func TestWordsOfTheRunbooks(t *testing.T) {
	_, table, _ := strings.Cut(pageOf(t, "runbooks.md"), "\n## Words\n")
	texts := words(table, "`([^`]+)`")
	if len(texts) < 10 {
		t.Fatalf("the table has the texts %q: the test is vacuous", texts)
	}
	var all strings.Builder
	sources(t, []string{".go", ".html", ".yml"}, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".test.yml") {
			all.WriteString(text)
		}
	})
	for _, text := range texts {
		if !strings.Contains(all.String(), text) {
			t.Errorf("no log, check, page or alert says %q", text)
		}
	}
}
