package commands

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands and flags in the shell",
		Long: `Prints a script that completes the commands and flags of holdfast when you press
Tab in bash, zsh, fish or powershell.`,
		Example: `  bash        source <(holdfast completion bash)
              in ~/.bashrc for every session; needs the package bash-completion
  zsh         source <(holdfast completion zsh)
              in ~/.zshrc, below compinit
  fish        holdfast completion fish > ~/.config/fish/completions/holdfast.fish
  powershell  holdfast completion powershell | Out-String | Invoke-Expression
              in the file that $PROFILE names`,
		Args:                  knownShell,
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root, w := cmd.Root(), cmd.OutOrStdout(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			default:
				return root.GenPowerShellCompletionWithDesc(w)
			}
		},
	}
}

func knownShell(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return exit.Usagef("name the shell, as in: %s bash; it may be %s", cmd.CommandPath(), strings.Join(shells, ", "))
	case len(args) > 1 || !slices.Contains(shells, args[0]):
		return exit.Usagef("%s takes one of %s, got %s", cmd.CommandPath(), strings.Join(shells, ", "), cli.QuotedList(args))
	}
	return nil
}
