package commands

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

// newManual is hidden: the build of the packages runs it.
func newManual(p *Program) *cobra.Command {
	return &cobra.Command{
		Use:               "manual DIR",
		Short:             "Write a man page of each command and help topic to a directory",
		Hidden:            true,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args:              cli.OneArgument("name the directory for the man pages, as in: %s man1"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeManual(newRoot(p), args[0])
		},
	}
}

// writeManual writes the pages of a command and of those below it.
func writeManual(cmd *cobra.Command, dir string) error {
	if cmd.Hidden {
		return nil
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), manualPage(cmd, name), 0o644); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if err := writeManual(c, dir); err != nil {
			return err
		}
	}
	return nil
}

// manualPage returns the help of a command as a man page, in the layout of help. The headings of its usage are those
// lines that begin at the margin and end with a colon.
func manualPage(cmd *cobra.Command, name string) []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, ".TH %q 1 \"\" %q Holdfast\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n",
		strings.ToUpper(name), "holdfast "+programVersion(), roff(name), roff(cmd.Short))
	for line := range strings.Lines(cmp.Or(cmd.Long, cmd.Short) + "\n") {
		page.WriteString(`\&` + roff(line)) // a line that begins with a dot is no request
	}
	if cmd.GroupID == groupTopics {
		return page.Bytes()
	}
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) { // a page does not name the host that has written it
		switch f.DefValue {
		case cli.DefaultOwner():
			f.DefValue = "user@host"
		case cli.HostName():
			f.DefValue = "the host's name"
		}
	})
	for line := range strings.Lines(cmd.UsageString()) {
		if heading, ok := strings.CutSuffix(line, ":\n"); ok && !strings.HasPrefix(line, " ") {
			fmt.Fprintf(&page, ".SH %s\n.nf\n", strings.ToUpper(roff(heading)))
		} else {
			page.WriteString(`\&` + roff(line))
		}
	}
	return page.Bytes()
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`)

// roff quotes the characters that have a meaning in a man page or would be replaced by others.
func roff(text string) string { return roffEscapes.Replace(text) }
