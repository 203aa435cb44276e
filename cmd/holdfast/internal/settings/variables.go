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

// ownPrefix begins the variables of holdfast. Each belongs to a flag, except those that lock and fence-agent set.
const ownPrefix = "HOLDFAST_"

// The variables that lock sets for its command. A resource contains no line break, so lists have one resource or
// token on each line.
const (
	VariableResource  = "HOLDFAST_RESOURCE"
	VariableToken     = "HOLDFAST_TOKEN"
	VariableResources = "HOLDFAST_RESOURCES"
	VariableTokens    = "HOLDFAST_TOKENS"
	// Of shared locks: the numbers of the permits, and the token with which each of them is fenced.
	VariableSlots      = "HOLDFAST_SLOTS"
	VariableSlotTokens = "HOLDFAST_SLOT_TOKENS"
)

// The variables that fence-agent sets for its command, beside those of the resource and of the token. The holder has a
// name of its own, because HOLDFAST_OWNER is a setting. The tenant is set only with --tenant.
const (
	VariableTenant = "HOLDFAST_TENANT"
	VariableFence  = "HOLDFAST_FENCE"
	VariableHolder = "HOLDFAST_HOLDER"
	VariableLoss   = "HOLDFAST_LOSS"
	VariableReason = "HOLDFAST_REASON"
	// VariableMetadata has the metadata as JSON, and PrefixMetadata begins the variables of single entries.
	VariableMetadata = "HOLDFAST_METADATA"
	PrefixMetadata   = "HOLDFAST_METADATA_"
)

// results are the variables that lock and fence-agent set, except those of single entries of the metadata.
var results = []string{
	VariableResource, VariableToken, VariableResources, VariableTokens, VariableSlots, VariableSlotTokens,
	VariableTenant, VariableFence, VariableHolder, VariableLoss, VariableReason, VariableMetadata,
}

// isResult reports whether lock or fence-agent sets the variable.
func isResult(name string) bool {
	return slices.Contains(results, name) || strings.HasPrefix(name, PrefixMetadata)
}

// ForCommand returns the environment of a command that lock or fence-agent starts: without what an outer one has set,
// and without the secrets of the login, which a child needs only if it is given them.
func ForCommand(environ []string) []string {
	isSet := func(name string) bool {
		return slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "NATS_PASSWORD", "HOLDFAST_PASSWORD":
			return true
		case "NATS_USER": // without a password it is a token
			return !isSet("NATS_PASSWORD")
		case "NATS_URL":
			return strings.Contains(value, "@")
		}
		return isResult(name)
	})
}

// CheckVariables refuses an environment variable that resembles a setting: most likely it is a misspelling, and the
// setting would have its default. One that is named after a flag of the command which takes none is refused, too; one
// that is named after a flag of another command is not.
func CheckVariables(cmd *cobra.Command, environ []string) error {
	if !takesVariables(cmd) {
		return nil
	}
	known := knownVariables(cmd.Root())
	var flags []string // those of all commands
	visitFlags(cmd.Root(), func(f *pflag.Flag) { flags = append(flags, f.Name) })
	for _, name := range Strangers(cmd.Root(), environ) {
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, ownPrefix)), "_", "-")
		if cmd.Flags().Lookup(flag) != nil {
			return exit.Usagef("%s has no effect: --%s is given on the command line only; unset the variable",
				display.Name(name), flag)
		}
		if slices.Contains(flags, flag) {
			continue
		}
		if near, ok := cli.Nearest(strings.TrimPrefix(name, ownPrefix), known); ok {
			return exit.Usagef("unknown setting %s; did you mean %s? If it is for another program, unset it here",
				display.Name(name), ownPrefix+near)
		}
	}
	return nil
}

// takesVariables reports whether the command has a flag with a variable.
func takesVariables(cmd *cobra.Command) (takes bool) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { takes = takes || Env(f) != "" })
	return takes
}

// knownVariables returns the names of all commands without their prefix: a variable may be set for another
// command.
func knownVariables(root *cobra.Command) (known []string) {
	add := func(variable string) {
		if name, ours := strings.CutPrefix(variable, ownPrefix); ours {
			known = append(known, name)
		}
	}
	for _, name := range results {
		add(name)
	}
	visitFlags(root, func(f *pflag.Flag) {
		for _, variable := range f.Annotations[envAnnotation] {
			add(variable)
		}
	})
	slices.Sort(known)
	return slices.Compact(known)
}

func visitFlags(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.Flags().VisitAll(visit)
	for _, c := range cmd.Commands() {
		visitFlags(c, visit)
	}
}

// Strangers returns the variables with the prefix of holdfast and a value that are not settings, except those that
// Kubernetes sets for a service named holdfast.
func Strangers(root *cobra.Command, environ []string) (names []string) {
	known := knownVariables(root)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		bare, ours := strings.CutPrefix(name, ownPrefix)
		if ours && value != "" && !slices.Contains(known, bare) && !isResult(name) && !isServiceLink(bare) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isServiceLink recognises SERVICE_HOST, SERVICE_PORT, PORT and PORT_4222_TCP after the name of a service that
// begins with holdfast: HOLDFAST_NATS_PORT.
func isServiceLink(bare string) bool {
	for _, word := range []string{"SERVICE_HOST", "SERVICE_PORT", "PORT"} {
		if strings.HasPrefix(bare, word) || strings.Contains(bare, "_"+word) {
			return true
		}
	}
	return false
}
