// Package settings fills the flags of a command from the command line, the environment and a configuration file.
package settings

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// ConfigFlag names the configuration file; a command without this flag reads none.
const ConfigFlag = "config"

// envAnnotation has the environment variables of a flag.
const envAnnotation = "holdfast_env"

// maxConfigFile bounds the configuration file in bytes.
const maxConfigFile = 1 << 20

// Settings are the values of a command's flags with their sources: the command line, else the environment, else
// the configuration file, else the default. The flag itself parses the value of every source, so the rules and
// the wording of errors are the same.
type Settings struct {
	flags *pflag.FlagSet
	// Given has the source of each flag that a source sets, in the words of an error.
	Given map[string]string
}

// Load sets the flags that the command line has not set.
func Load(flags *pflag.FlagSet) (*Settings, error) {
	s := &Settings{flags: flags, Given: make(map[string]string)}
	file, err := s.readFile()
	if err != nil {
		return nil, err
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if err == nil {
			err = s.fill(f, file)
		}
	})
	return s, err
}

// SetEnv assigns environment variables to the flag: the one that is documented, and those of earlier versions.
func SetEnv(f *pflag.Flag, variables ...string) {
	if f.Annotations == nil {
		f.Annotations = make(map[string][]string)
	}
	f.Annotations[envAnnotation] = variables
}

// Env returns the environment variable of the flag; empty for none.
func Env(f *pflag.Flag) string {
	if names := f.Annotations[envAnnotation]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// fromEnv returns the value that the environment has for the flag, and the variable; empty without one.
func fromEnv(f *pflag.Flag) (value, variable string) {
	for _, variable := range f.Annotations[envAnnotation] {
		if value := os.Getenv(variable); value != "" {
			return value, variable
		}
	}
	return "", ""
}

// Variable returns the HOLDFAST_ variable of a flag: HOLDFAST_MIN_TTL.
func Variable(flag string) string {
	return ownPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// entry is a value of the configuration file, and where it is, in the words of an error.
type entry struct {
	value any
	where string
}

// readFile returns what the configuration file sets, by the names of the flags.
func (s *Settings) readFile() (map[string]entry, error) {
	f := s.flags.Lookup(ConfigFlag)
	if f == nil {
		return nil, nil
	}
	path, where := f.Value.String(), "--"+ConfigFlag
	if !f.Changed {
		path, where = fromEnv(f)
	}
	if path == "" {
		return nil, nil
	}
	var values map[string]any
	if err := ReadFile(path, "a table of settings", maxConfigFile, &values); err != nil {
		return nil, exit.Usagef("%s: %w", where, err)
	}
	var known []string // the flags with a variable, except the one of the file
	s.flags.VisitAll(func(f *pflag.Flag) {
		if Env(f) != "" && f.Name != ConfigFlag {
			known = append(known, f.Name)
		}
	})
	name, entries := display.Name(filepath.Base(path)), make(map[string]entry)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		f, err := Find(s.flags, strings.ToLower(key), "setting", known)
		if err != nil {
			return nil, exit.Usagef("%s: %w", name, err)
		}
		entries[f.Name] = entry{values[key], key + " in " + name}
	}
	return entries, nil
}

// Find returns the flag that a key of a file sets. A key that is none of the known flags is an error: an ignored
// misspelling would be hard to find. what says what the keys are.
func Find(flags *pflag.FlagSet, key, what string, known []string) (*pflag.Flag, error) {
	slices.Sort(known)
	if f := flags.Lookup(key); f != nil && slices.Contains(known, f.Name) {
		return f, nil
	}
	if near, ok := cli.Nearest(key, known); ok {
		return nil, fmt.Errorf("unknown %s %q; did you mean %q?", what, key, near)
	}
	return nil, fmt.Errorf("unknown %s %q; the %ss are: %s", what, key, what, strings.Join(known, ", "))
}

// Assign sets a flag to a value of a file. where names the value in an error.
func Assign(f *pflag.Flag, value any, where string) error {
	text, ok := scalar(value)
	if list, isList := value.([]any); isList && f.Value.Type() == "stringSlice" {
		text, ok = commaSeparated(list)
	}
	if !ok {
		return exit.Usagef("%s: one value, not a list, a table or nothing", where)
	}
	if err := f.Value.Set(text); err != nil {
		return cli.BadValue(where, text, err)
	}
	return nil
}

// fill sets one flag.
func (s *Settings) fill(f *pflag.Flag, file map[string]entry) error {
	if f.Changed {
		s.Given[f.Name] = "--" + f.Name
		if f.Value.Type() == "string" && f.Value.String() == "" {
			// Most likely the value is an empty variable of a script.
			return exit.Usagef("--%s must not be empty; omit it for the default", f.Name)
		}
		return nil
	}
	from := file[f.Name]
	if text, variable := fromEnv(f); text != "" {
		from = entry{text, variable}
	}
	if from.value == nil || from.value == "" {
		return nil
	}
	s.Given[f.Name] = from.where
	return Assign(f, from.value, from.where)
}

// scalar returns a value of a file in the form of the command line. It is not ok for a list, a table or nothing.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// commaSeparated returns a list of the file in the form of the command line.
func commaSeparated(list []any) (string, bool) {
	var words []string
	for _, value := range list {
		word, ok := scalar(value)
		if !ok {
			return "", false
		}
		words = append(words, word)
	}
	return strings.Join(words, ","), true
}

// Has reports whether a source sets the flag. A boolean that is false counts as not set.
func (s *Settings) Has(flag string) bool {
	f := s.flags.Lookup(flag)
	off := f.Value.Type() == "bool" && f.Value.String() == "false"
	return s.Given[flag] != "" && !off
}

// Exclude refuses one together with any of others.
func (s *Settings) Exclude(one string, others []string, why string) error {
	if !s.Has(one) {
		return nil
	}
	for _, other := range others {
		if s.Has(other) {
			return exit.Usagef("%s and %s exclude each other: %s", s.Given[one], s.Given[other], why)
		}
	}
	return nil
}

// Together refuses some of the flags without the others.
func (s *Settings) Together(why string, flags ...string) error {
	for _, flag := range flags {
		if err := s.Require(flag, flags, why); err != nil {
			return err
		}
	}
	return nil
}

// Require refuses any of others without one.
func (s *Settings) Require(one string, others []string, why string) error {
	if s.Has(one) {
		return nil
	}
	for _, other := range others {
		if s.Has(other) {
			return exit.Usagef("%s needs --%s: %s", s.Given[other], one, why)
		}
	}
	return nil
}
