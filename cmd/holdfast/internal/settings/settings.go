// Package settings fills the flags of a command from the command line, the environment and a configuration file.
package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// ConfigFlag names the configuration file; a command without this flag reads none.
const ConfigFlag = "config"

// envAnnotation holds the name of the environment variable of a flag.
const envAnnotation = "holdfast_env"

// Settings are the values of a command's flags with their sources: the command line, else the environment, else
// the configuration file, else the default. The flag itself parses the value of every source, so the rules and
// the wording of errors are the same.
type Settings struct {
	flags *pflag.FlagSet
	viper *viper.Viper
	file  string
	Given map[string]string
}

// Load sets the flags that the command line has not set.
func Load(flags *pflag.FlagSet) (*Settings, error) {
	s := &Settings{flags: flags, viper: viper.New(), Given: make(map[string]string)}
	flags.VisitAll(func(f *pflag.Flag) {
		if env := Env(f); env != "" {
			s.viper.MustBindEnv(f.Name, env)
		}
	})
	if err := s.readFile(); err != nil {
		return nil, err
	}
	return s, s.fill()
}

// SetEnv assigns an environment variable to the flag.
func SetEnv(f *pflag.Flag, variable string) {
	if f.Annotations == nil {
		f.Annotations = make(map[string][]string)
	}
	f.Annotations[envAnnotation] = []string{variable}
}

// Env returns the environment variable of the flag; empty for none.
func Env(f *pflag.Flag) string {
	if names := f.Annotations[envAnnotation]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// Variable returns the HOLDFAST_ variable of a flag: HOLDFAST_MIN_TTL.
func Variable(flag string) string {
	return "HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (s *Settings) readFile() error {
	f := s.flags.Lookup(ConfigFlag)
	if f == nil {
		return nil
	}
	path, where := f.Value.String(), "--"+ConfigFlag
	if !f.Changed {
		path, where = s.viper.GetString(ConfigFlag), Env(f)
	}
	if path == "" {
		return nil
	}
	if !slices.Contains([]string{".yaml", ".yml", ".toml"}, filepath.Ext(path)) {
		return exit.Usagef("%s: a file that ends in .yaml, .yml or .toml, got %q", where, path)
	}
	s.file = filepath.Base(path)
	s.viper.SetConfigFile(path)
	if err := s.viper.ReadInConfig(); err != nil {
		return badFile(where, path, err)
	}
	return s.knownKeys()
}

func badFile(where, path string, err error) error {
	if parse, is := errors.AsType[viper.ConfigParseError](err); is {
		return exit.Usagef("%s: cannot parse %q: %w", where, path, parse.Unwrap())
	}
	return exit.Usagef("%s: cannot read %q: %w", where, path, RootCause(err))
}

// knownKeys refuses a file with a key that is not a flag: an ignored misspelling would be hard to find.
func (s *Settings) knownKeys() error {
	known := s.keys()
	keys := s.viper.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if slices.Contains(known, key) || key == ConfigFlag && !s.viper.InConfig(key) {
			continue
		}
		if near, ok := cli.Nearest(key, known); ok {
			return exit.Usagef("%s: unknown setting %q; did you mean %q?", display.Name(s.file), key, near)
		}
		return exit.Usagef("%s: unknown setting %q; the settings are: %s", display.Name(s.file), key, strings.Join(known, ", "))
	}
	return nil
}

// keys returns the keys that the file may contain: the flags with a variable, except the one of the file.
func (s *Settings) keys() []string {
	var keys []string
	s.flags.VisitAll(func(f *pflag.Flag) {
		if Env(f) != "" && f.Name != ConfigFlag {
			keys = append(keys, f.Name)
		}
	})
	slices.Sort(keys)
	return keys
}

// fill returns the first error.
func (s *Settings) fill() (err error) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if err == nil {
			err = s.fillFlag(f)
		}
	})
	return err
}

func (s *Settings) fillFlag(f *pflag.Flag) error {
	if f.Changed {
		s.Given[f.Name] = "--" + f.Name
		if f.Value.Type() == "string" && f.Value.String() == "" {
			// Most likely the value is an empty variable of a script.
			return exit.Usagef("--%s must not be empty; omit it for the default", f.Name)
		}
		return nil
	}
	value := s.viper.Get(f.Name)
	if value == nil || value == "" {
		return nil
	}
	where := s.where(f)
	text, ok := Scalar(value)
	if list, isList := value.([]any); isList && f.Value.Type() == "stringSlice" {
		text, ok = commaSeparated(list)
	}
	if !ok {
		return exit.Usagef("%s: one value, not a list or a table", where)
	}
	if err := f.Value.Set(text); err != nil {
		return cli.BadValue(where, text, err)
	}
	s.Given[f.Name] = where
	return nil
}

// where names the source of a value that the command line has not set.
func (s *Settings) where(f *pflag.Flag) string {
	if env := Env(f); os.Getenv(env) != "" {
		return env
	}
	return fmt.Sprintf("%s in %s", f.Name, display.Name(s.file))
}

// Scalar returns a value of a file in the form of the command line. It is not ok for a list, a table or nothing.
func Scalar(value any) (string, bool) {
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
		word, ok := Scalar(value)
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
