package commands

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/serve"
)

// settingsMark stands in a page before the part that the program writes, to the end of the page.
const settingsMark = "<!-- make generate writes what follows, from the flags of holdfast serve -->\n"

// newSettings is hidden: make generate runs it.
func newSettings() *cobra.Command {
	return &cobra.Command{
		Use:               "settings FILE",
		Short:             "Write the settings of serve to a page of the documentation, behind its mark",
		Hidden:            true,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args:              cli.OneArgument("name the page, as in: %s docs/settings.md"),
		RunE: func(_ *cobra.Command, args []string) error {
			page, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			text, found := settingsPage(string(page))
			if !found {
				return fmt.Errorf("%s has no line %q", args[0], strings.TrimSpace(settingsMark))
			}
			return os.WriteFile(args[0], []byte(text), 0o644)
		},
	}
}

// settingsPage returns the page with the present settings. It needs the mark.
func settingsPage(page string) (text string, found bool) {
	before, _, found := strings.Cut(page, settingsMark)
	return before + settingsMark + cli.FlagTable(serve.New("", nil).Flags()), found
}
