package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// FlagError rewords an error of pflag.
func FlagError(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() && cmd.Flags().NArg() > 0 {
		return KnownCommand(cmd, cmd.Flags().Args()) // the flag is of a command that does not exist
	}
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return BadValue("--"+value.GetFlag().Name, value.GetValue(), value.Unwrap())
	case errors.As(err, &missing):
		return exit.Usagef("--%s requires a value", missing.GetFlag().Name)
	case errors.As(err, &unknown):
		return exit.Usagef("%s has no flag %s%s", cmd.CommandPath(), nameOf(unknown),
			wayOut(cmd, unknown.GetSpecifiedName()))
	}
	return exit.Usagef("%w; see %s --help", err, cmd.CommandPath())
}

func nameOf(e *pflag.NotExistError) string {
	if e.GetSpecifiedShortnames() != "" {
		return display.Name("-" + e.GetSpecifiedName())
	}
	return display.Name("--" + e.GetSpecifiedName())
}

// wayOut suggests the flag that resembles an unknown one, or the help.
func wayOut(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := Nearest(name, names); ok {
		return "; did you mean --" + near + "?"
	}
	return "; see " + cmd.CommandPath() + " --help"
}

// BadValue returns the error of a value. where names its source.
func BadValue(where, value string, err error) error {
	if rule, is := errors.AsType[*messages.InvalidError](err); is {
		return exit.Usagef("%s: %s, got %q", where, rule.Rule, value)
	}
	return exit.Usagef("%s: %w, got %q", where, err, value)
}

// OneResource requires exactly one argument.
func OneResource(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return exit.Usagef("name the resource, as in: %s orders.42", cmd.CommandPath())
	case 1:
		return nil
	}
	return exit.Usagef("%s takes one resource, got %d: %s; quote a name with spaces",
		cmd.CommandPath(), len(args), QuotedList(args))
}

// OneArgument requires exactly one argument that is not empty. rule says so, with %s for the path of the command.
func OneArgument(rule string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return exit.Usagef(rule, cmd.CommandPath())
	}
}

// NoArguments refuses arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.Usagef("%s takes no arguments, got %s; see %s --help",
		cmd.CommandPath(), QuotedList(args), cmd.CommandPath())
}

// KnownCommand refuses an unknown subcommand.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if near, ok := Nearest(args[0], names); ok {
		return exit.Usagef("unknown command %q; did you mean %s %s?", args[0], cmd.CommandPath(), near)
	}
	return exit.Usagef("unknown command %q; see %s --help", args[0], cmd.CommandPath())
}

// QuotedList returns the first arguments, quoted.
func QuotedList(args []string) string {
	const maxQuoted = 5
	quoted := make([]string, 0, maxQuoted+1)
	for i, a := range args {
		if i == maxQuoted {
			quoted = append(quoted, "...")
			break
		}
		quoted = append(quoted, strconv.Quote(a))
	}
	return strings.Join(quoted, ", ")
}
