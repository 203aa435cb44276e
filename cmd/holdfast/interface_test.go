package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// removed has the flags of the former version that this one has not. See docs/compatibility.md for what may be removed
// when.
var removed = []string{"--cluster-tls-ca", "--cluster-tls-cert", "--cluster-tls-key", "--http-tls-cert",
	"--http-tls-key", "--idle-after", "--reentrant", "--remember", "--socks-proxy", "--watch"}

// Commands, flags, exit codes and metrics of the former version are there in this one: exit codes with their meaning,
// and metrics with their type and labels.
func TestFormerInterface(t *testing.T) {
	t.Parallel()
	before, now := interfaceOf(t, stand.BinaryAt(t, *former)), interfaceOf(t, stand.Binary(t))
	var gone []string
	for _, part := range before {
		if slices.Contains(now, part) || hasFlag(t, part) {
			continue
		}
		flag := regexp.MustCompile(`^the flag (\S+) of `).FindStringSubmatch(part)
		if flag == nil || !slices.Contains(removed, flag[1]) {
			t.Errorf("the former version has %s, and this one has not", part)
		} else if !slices.Contains(gone, flag[1]) {
			gone = append(gone, flag[1])
		}
	}
	if slices.Sort(gone); !slices.Equal(gone, removed) {
		t.Errorf("of the removed flags only %q are gone since the former version", gone)
	}
	if len(before) < 500 {
		t.Errorf("the former version has %d parts: the test is vacuous", len(before))
	}
}

// hasFlag reports whether this version takes a flag that its page does not list, because a topic has it.
func hasFlag(t *testing.T, part string) bool {
	t.Helper()
	var flag, page string
	if _, err := fmt.Sscanf(part, "the flag %s of holdfast-%s", &flag, &page); err != nil {
		return false
	}
	// A flag that is not known is refused before help is shown, and so is a wrong value of one that is.
	r := run(t, append(strings.Split(parents.ReplaceAllString(page, "$1 "), " "), flag+"=x", "--help")...)
	return r.code == 0 || strings.Contains(r.stderr, "holdfast: "+flag+": ")
}

var (
	parents    = regexp.MustCompile(`^(access|completion|demo|members)-`) // of commands whose pages have both names
	manualFlag = regexp.MustCompile(`(?m)^\\&(?:      |  -[a-z], )--([a-z0-9-]+)`)
	manualCode = regexp.MustCompile(`(?m)^\\&  (\d)  (.*(?:\n\\&     .*)*)`)
	manualWord = regexp.MustCompile(`\b[A-Z][A-Z_]{3,}\b`)
)

// interfaceOf returns what scripts and rules can use of a version: from its manual, and from a node that has done
// something of each kind.
func interfaceOf(t *testing.T, binary string) (parts []string) {
	t.Helper()
	dir := t.TempDir()
	call := func(args ...string) {
		if r := runBinary(t, binary, nil, args...); r.code != 0 {
			t.Errorf("%+v", r)
		}
	}
	call("manual", dir)
	pages, err := filepath.Glob(dir + "/*.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pages {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), `\-`, "-")
		page := strings.TrimSuffix(filepath.Base(name), ".1")
		parts = append(parts, "the page "+page)
		for _, flag := range manualFlag.FindAllStringSubmatch(text, -1) {
			parts = append(parts, fmt.Sprintf("the flag --%s of %s", flag[1], page))
		}
		if page != "holdfast-exit-codes" {
			continue
		}
		for _, code := range manualCode.FindAllStringSubmatch(text, -1) {
			for _, status := range manualWord.FindAllString(code[2], -1) {
				parts = append(parts, fmt.Sprintf("the exit code %s for %s", code[1], status))
			}
		}
	}
	m := stand.NewAlone(t, "--http", "127.0.0.1:0")
	m.Binary = binary
	m.Start()
	m.WaitReady()
	for _, args := range [][]string{{"acquire", "a", "--owner", "me"}, {"extend", "a", "--owner", "me"}, {"get", "a"},
		{"ls"}, {"release", "a", "--owner", "me"}} {
		call(append(args, "--server", m.URL)...)
	}
	_, families := scrape(t, "http://"+m.HTTP())
	m.Stop()
	var kind string
	for _, row := range metricRows(families) {
		if heading, is := strings.CutPrefix(row, "## "); is {
			kind = heading
			continue
		}
		parts = append(parts, "of "+kind+strings.Split(row, "|")[1])
	}
	return parts
}
