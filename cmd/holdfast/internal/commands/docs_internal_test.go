package commands

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/locks"
	"github.com/holdfast-io/holdfast/cmd/holdfast/serve"
	"github.com/holdfast-io/holdfast/messages"
)

const docs = "../../../../docs"

// pageOf returns a page of the documentation.
func pageOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// words are the words of a page that are set as code and match the pattern.
func words(page, pattern string) (all []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}

// table returns the rows of the table whose heading begins so: what is set as code in the first column, and the rest.
func table(t *testing.T, page, heading string) map[string]string {
	t.Helper()
	_, rows, found := strings.Cut(page, "\n"+heading)
	if !found {
		t.Fatalf("there is no table %q", heading)
	}
	rows, _, _ = strings.Cut(rows, "\n\n")
	all := map[string]string{}
	for _, row := range strings.Split(rows, "\n")[2:] {
		first, rest, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, word := range words(first, "`([^`]+)`") {
			all[word] = rest
		}
	}
	return all
}

func wantSame(t *testing.T, what string, documented, existing []string) {
	t.Helper()
	slices.Sort(documented)
	slices.Sort(existing)
	for _, name := range existing {
		if _, found := slices.BinarySearch(documented, name); !found {
			t.Errorf("%s: the pages lack %q", what, name)
		}
	}
	for _, name := range documented {
		if _, found := slices.BinarySearch(existing, name); !found {
			t.Errorf("%s: the pages have %q, and the program does not", what, name)
		}
	}
}

// The page of all settings has each flag of serve, as the program writes it, with its default and its bounds.
func TestSettingsOfThePage(t *testing.T) {
	page := pageOf(t, "settings.md")
	if want, found := settingsPage(page); !found || page != want {
		t.Error("docs/settings.md differs from the flags of serve; run: make generate")
	}
	documented := words(page, "(?m)^\\| `([a-z-]+)` \\| .* \\|$")
	var existing []string
	serve.New("", nil).Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && f.Name != "config" {
			existing = append(existing, f.Name)
		}
	})
	wantSame(t, "settings", documented, existing)
	for _, row := range []string{"| `max-ttl` | `24h` | longest lease allowed; 100ms to 24h |", "| `shards` | 1 | "} {
		if !strings.Contains(page, "\n"+row) {
			t.Errorf("docs/settings.md has no row %s", row)
		}
	}
}

// The table of commands has each command, and the pages name no command and no flag that does not exist.
func TestCommandsOfThePages(t *testing.T) {
	root := newRoot(&Program{})
	root.InitDefaultHelpCmd()
	var existing, documented []string
	for _, c := range root.Commands() {
		if !c.Hidden && c.GroupID != groupTopics {
			existing = append(existing, c.Name())
		}
	}
	for usage := range table(t, pageOf(t, "cli.md"), "| command | effect |") {
		name, _, _ := strings.Cut(usage, " ")
		documented = append(documented, name)
	}
	slices.Sort(documented)
	wantSame(t, "commands", slices.Compact(documented), existing)
	flags := map[string]bool{"help": true, "version": true}
	var collect func(c *cobra.Command)
	collect = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, below := range c.Commands() {
			collect(below)
		}
	}
	collect(root)
	pages, err := filepath.Glob(docs + "/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, error %v", len(pages), err)
	}
	for _, page := range append(pages, docs+"/../README.md") {
		name, err := filepath.Rel(docs, page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(pageOf(t, name)) {
			for _, invocation := range words(line, "(?:^ {4}(?:\\$ )?|`)(?:bin/)?(holdfast [a-z][^`\n]*)") {
				for _, flag := range words(invocation, `[ \[]--([a-z][a-z-]*[a-z])`) {
					if flags[flag] || strings.Contains(invocation, " -- ") ||
						strings.Contains(invocation, "completion") {
						continue
					}
					t.Errorf("%s: no command has the flag --%s: %s", name, flag, invocation)
				}
			}
		}
	}
}

// Each status has one exit code, which is that of the page and of help.
func TestExitCodesOfThePage(t *testing.T) {
	for _, text := range []string{pageOf(t, "cli.md"), exitCodesTopic} {
		for _, s := range messages.Status_name {
			status := messages.Status(messages.Status_value[s])
			if status == messages.Status_STATUS_UNSPECIFIED || status == messages.Status_UPDATED {
				continue
			}
			code := locks.ExitCode(messages.OpAcquire, status)
			if status == messages.Status_RELEASED || code == exit.Done || status == messages.Status_EXPIRED {
				continue // it depends on the command, as the page says
			}
			row := regexp.MustCompile(fmt.Sprintf(`(?m)^(?:\| |  )%d .*(?:\n     .*)*\b%s\b`, code, s))
			if !row.MatchString(text) {
				t.Errorf("the exit code %d of %s is not in %.60q", code, s, text)
			}
		}
	}
}

// Each list of permissions in the pages is that of the command in the comment before it.
func TestPermissionsOfThePages(t *testing.T) {
	lists := regexp.MustCompile(`\s(publish|subscribe): \[([^\]]*)\]`)
	comments := regexp.MustCompile(`# holdfast (access .*)`)
	pages, err := filepath.Glob(docs + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range pages {
		name := filepath.Base(path)
		text := pageOf(t, name)
		for _, m := range lists.FindAllStringSubmatchIndex(text, -1) {
			what, list := text[m[2]:m[3]], text[m[4]:m[5]]
			block := text[:m[0]]
			block = block[max(strings.LastIndex(block, "```"), strings.LastIndex(block, "\n\n")):]
			commands := comments.FindAllStringSubmatch(block, -1)
			if commands == nil {
				t.Errorf("%s: no comment names the command that prints %s: [%.60s", name, what, list)
				continue
			}
			command, _, isPart := strings.Cut(commands[len(commands)-1][1], ", of which")
			var printed bytes.Buffer
			args := append(strings.Fields(strings.ReplaceAll(command, "'", "")), "--shards", "1")
			if code := (&Program{Stdout: &printed, Stderr: os.Stderr}).Run(t.Context(), args); code != exit.Done {
				t.Fatalf("%s: %s: exit code %d", name, command, code)
			}
			subjects := func(list string) []string {
				return words(strings.ReplaceAll(list, "HOLDFAST_n", "HOLDFAST_0"), `"([^"]+)"`)
			}
			for _, of := range lists.FindAllStringSubmatch(printed.String(), -1) {
				if of[1] == what {
					documented, existing := subjects(list), subjects(of[2])
					if isPart {
						existing = slices.DeleteFunc(existing,
							func(s string) bool { return !slices.Contains(documented, s) })
					}
					wantSame(t, name+": "+command+": "+what, documented, existing)
					compared++
				}
			}
		}
	}
	if compared < 4 {
		t.Errorf("%d lists were compared: the test is vacuous", compared)
	}
}
