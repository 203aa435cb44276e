package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/messages"
)

// usage returns an error that names what was wrong on the command line, the rule, and the way out.
func usage(format string, args ...any) error { return fail(exitUsage, format, args...) }

// flagError says in our words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() && cmd.Flags().NArg() > 0 {
		return knownCommand(cmd, cmd.Flags().Args()) // the flag is of a command that does not exist
	}
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return badValue("--"+value.GetFlag().Name, value.GetValue(), value.Unwrap())
	case errors.As(err, &missing):
		return usage("--%s needs a value", missing.GetFlag().Name)
	case errors.As(err, &unknown):
		return usage("%s has no flag %s%s", cmd.CommandPath(), nameOf(unknown), wayOut(cmd, unknown.GetSpecifiedName()))
	}
	return usage("%w; see %s --help", err, cmd.CommandPath())
}

func nameOf(e *pflag.NotExistError) string {
	if e.GetSpecifiedShortnames() != "" {
		return shown("-" + e.GetSpecifiedName())
	}
	return shown("--" + e.GetSpecifiedName())
}

// wayOut points from a flag that does not exist to the one that was meant, or to all of them.
func wayOut(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := nearest(name, names); ok {
		return "; did you mean --" + near + "?"
	}
	return "; see " + cmd.CommandPath() + " --help"
}

// badValue says what is wrong with the value of a flag, wherever it was given.
func badValue(where, value string, err error) error {
	var number *strconv.NumError
	var rule *messages.InvalidError
	switch {
	case errors.As(err, &number) && number.Func == "ParseBool":
		return usage("%s: true or false, got %q", where, value)
	case errors.As(err, &number):
		return usage("%s: a whole number, got %q", where, value)
	case errors.As(err, &rule):
		return usage("%s: %s, got %q", where, rule.Rule, value)
	}
	return usage("%s: %w, got %q", where, err, value)
}

// oneResource lets a command have exactly one argument.
func oneResource(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usage("name the resource, as in: %s orders.42", cmd.CommandPath())
	case 1:
		return nil
	}
	return usage("%s takes one resource, got %d: %s; put a name with spaces in quotes",
		cmd.CommandPath(), len(args), quotedList(args))
}

// noArguments lets a command have none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage("%s takes no arguments, got %s; see %s --help", cmd.CommandPath(), quotedList(args), cmd.CommandPath())
}

// knownCommand refuses what is no command of ours.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if near, ok := nearest(args[0], names); ok {
		return usage("no command %q; did you mean %s %s?", args[0], cmd.CommandPath(), near)
	}
	return usage("no command %q; see %s --help", args[0], cmd.CommandPath())
}

func quotedList(args []string) string {
	const most = 5
	quoted := make([]string, 0, most+1)
	for i, a := range args {
		if i == most {
			quoted = append(quoted, "...")
			break
		}
		quoted = append(quoted, strconv.Quote(a))
	}
	return strings.Join(quoted, ", ")
}

// nearest returns the candidate that is the most likely to have been meant: the only one that begins
// so, or the nearest of those at most two edits away.
func nearest(name string, candidates []string) (string, bool) {
	longer := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return !strings.HasPrefix(c, name) })
	if len(longer) == 1 && name != "" {
		return longer[0], true
	}
	best, least := "", 3
	for _, c := range candidates {
		if d := edits(name, c); d < least && d < len(name) {
			best, least = c, d
		}
	}
	return best, best != ""
}

// edits returns how many bytes have to be inserted, removed or replaced to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
