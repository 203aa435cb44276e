package settings

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// ownPrefix is what our variables begin with. Each but those of lock belongs to a flag.
const ownPrefix = "HOLDFAST_"

// The variables in which the command of lock finds its locks. A name of a resource holds no line break, so
// that lists with one name or token on each line are clear.
const (
	VariableResource  = "HOLDFAST_RESOURCE"
	VariableToken     = "HOLDFAST_TOKEN"
	VariableResources = "HOLDFAST_RESOURCES"
	VariableTokens    = "HOLDFAST_TOKENS"
)

var LockVariables = []string{VariableResource, VariableToken, VariableResources, VariableTokens}

// CheckVariables refuses a variable of the environment that looks like a misspelt setting. It would be
// passed over in silence, and the setting would have its default.
func CheckVariables(cmd *cobra.Command, environ []string) error {
	if !takesVariables(cmd) {
		return nil
	}
	known := knownVariables(cmd.Root())
	for _, name := range Strangers(cmd.Root(), environ) {
		if near, ok := cli.Nearest(strings.TrimPrefix(name, ownPrefix), known); ok {
			return exit.Usagef("no setting %s; did you mean %s? If it is meant for another program, unset it here", display.Name(name), ownPrefix+near)
		}
	}
	return nil
}

// takesVariables reports whether the command has a flag that a variable stands for.
func takesVariables(cmd *cobra.Command) (takes bool) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { takes = takes || Env(f) != "" })
	return takes
}

// knownVariables returns the names without their prefix, of all commands: a variable may be set for another
// one than this.
func knownVariables(root *cobra.Command) (known []string) {
	add := func(variable string) {
		if name, ours := strings.CutPrefix(variable, ownPrefix); ours {
			known = append(known, name)
		}
	}
	for _, name := range LockVariables {
		add(name)
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { add(Env(f)) })
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	slices.Sort(known)
	return slices.Compact(known)
}

// Strangers returns the variables that have our prefix and a value, and are none of ours. What Kubernetes
// sets for a service with the name holdfast is left out.
func Strangers(root *cobra.Command, environ []string) (names []string) {
	known := knownVariables(root)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		bare, ours := strings.CutPrefix(name, ownPrefix)
		if ours && value != "" && !slices.Contains(known, bare) && !isServiceLink(bare) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isServiceLink recognises SERVICE_HOST, SERVICE_PORT, PORT and PORT_4222_TCP, behind the name of a service
// that may go on: HOLDFAST_NATS_PORT.
func isServiceLink(bare string) bool {
	for _, word := range []string{"SERVICE_HOST", "SERVICE_PORT", "PORT"} {
		if strings.HasPrefix(bare, word) || strings.Contains(bare, "_"+word) {
			return true
		}
	}
	return false
}
