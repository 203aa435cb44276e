package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// bounded is a value with inclusive bounds.
type bounded interface{ Bounds() string }

// ownDefault is the default that a usage names, of a flag whose value does not tell it.
var ownDefault = regexp.MustCompile(` \(default ([^)]*)\)$`)

// FlagTable returns the flags in Markdown, those of each section but [SectionOther] under its heading.
func FlagTable(all *pflag.FlagSet) string {
	var b strings.Builder
	title := ""
	all.SortFlags = false
	all.VisitAll(func(f *pflag.Flag) {
		section := annotation(f, sectionAnnotation)
		if f.Hidden || section == "" || section == SectionOther {
			return
		}
		if section != title {
			title = section
			fmt.Fprintf(&b, "\n## %s\n\n| setting | default | |\n|---|---|---|\n", title)
		}
		_, usage := pflag.UnquoteUsage(f)
		preset := f.DefValue
		switch own := ownDefault.FindStringSubmatch(usage); {
		case own != nil:
			preset, usage = own[1], strings.TrimSuffix(usage, own[0])
		case preset == HostName():
			preset = "the host's"
		case preset == "[]":
			preset = ""
		case preset != "":
			preset = "`" + preset + "`"
		}
		if v, is := f.Value.(bounded); is {
			usage += "; " + v.Bounds()
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, preset, usage)
	})
	return b.String()
}
