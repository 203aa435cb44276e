package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// configFlag names the configuration file; a command without this flag reads none.
const configFlag = "config"

// envAnnotation holds the name of the environment variable that stands in for a flag.
const envAnnotation = "holdfast_env"

// settings are the values of a command's flags and where they come from: the command line, else the
// environment, else the configuration file, else the default. Whatever the source, the flag itself
// reads the value, so there is one set of rules and one wording for what breaks them.
type settings struct {
	flags *pflag.FlagSet
	viper *viper.Viper
	file  string
	given map[string]string
}

// loadSettings fills the flags that the command line has not set.
func loadSettings(flags *pflag.FlagSet) (*settings, error) {
	s := &settings{flags: flags, viper: viper.New(), given: make(map[string]string)}
	flags.VisitAll(func(f *pflag.Flag) {
		if env := envOf(f); env != "" {
			s.viper.MustBindEnv(f.Name, env)
		}
	})
	if err := s.readFile(); err != nil {
		return nil, err
	}
	return s, s.fill()
}

// setEnv makes the variable stand in for the flag.
func setEnv(f *pflag.Flag, variable string) {
	if f.Annotations == nil {
		f.Annotations = make(map[string][]string)
	}
	f.Annotations[envAnnotation] = []string{variable}
}

func envOf(f *pflag.Flag) string {
	if names := f.Annotations[envAnnotation]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// ownEnv returns our variable for a flag: HOLDFAST_MIN_TTL.
func ownEnv(flag string) string {
	return "HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (s *settings) readFile() error {
	f := s.flags.Lookup(configFlag)
	if f == nil {
		return nil
	}
	path, where := f.Value.String(), "--"+configFlag
	if !f.Changed {
		path, where = s.viper.GetString(configFlag), envOf(f)
	}
	if path == "" {
		return nil
	}
	if !slices.Contains([]string{".yaml", ".yml", ".toml"}, filepath.Ext(path)) {
		return usage("%s: a file that ends in .yaml, .yml or .toml, got %q", where, path)
	}
	s.file = filepath.Base(path)
	s.viper.SetConfigFile(path)
	if err := s.viper.ReadInConfig(); err != nil {
		return badFile(where, path, err)
	}
	return s.knownKeys()
}

func badFile(where, path string, err error) error {
	var parse viper.ConfigParseError
	if errors.As(err, &parse) {
		return usage("%s: cannot understand %q: %w", where, path, parse.Unwrap())
	}
	return usage("%s: cannot read %q: %w", where, path, rootCause(err))
}

// rootCause leaves out the path that file errors repeat.
func rootCause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// knownKeys refuses a file with a key that is no flag: a misspelt setting that is passed over has
// effects that nobody connects with the file.
func (s *settings) knownKeys() error {
	known := s.keys()
	keys := s.viper.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if slices.Contains(known, key) || key == configFlag && !s.viper.InConfig(key) {
			continue
		}
		if near, ok := nearest(key, known); ok {
			return usage("%s: no setting %q; did you mean %q?", shown(s.file), key, near)
		}
		return usage("%s: no setting %q; there are: %s", shown(s.file), key, strings.Join(known, ", "))
	}
	return nil
}

// keys returns what may stand in the file: the flags that have a variable, but for the file's own.
func (s *settings) keys() []string {
	var keys []string
	s.flags.VisitAll(func(f *pflag.Flag) {
		if envOf(f) != "" && f.Name != configFlag {
			keys = append(keys, f.Name)
		}
	})
	slices.Sort(keys)
	return keys
}

func (s *settings) fill() error {
	var errs []error
	s.flags.VisitAll(func(f *pflag.Flag) { errs = append(errs, s.fillFlag(f)) })
	for _, err := range errs {
		if err != nil {
			return err // the first is enough
		}
	}
	return nil
}

func (s *settings) fillFlag(f *pflag.Flag) error {
	if f.Changed {
		s.given[f.Name] = "--" + f.Name
		if f.Value.Type() == "string" && f.Value.String() == "" {
			// Most likely it is a variable of a script that should have had a value.
			return usage("--%s: not empty; leave it out if that is what you mean", f.Name)
		}
		return nil
	}
	value := s.viper.Get(f.Name)
	if value == nil || value == "" {
		return nil
	}
	where := s.where(f)
	text, ok := scalar(value)
	if list, isList := value.([]any); isList && f.Value.Type() == "stringSlice" {
		text, ok = commaSeparated(list)
	}
	if !ok {
		return usage("%s: one value, not a list or a table", where)
	}
	if err := f.Value.Set(text); err != nil {
		return badValue(where, text, err)
	}
	s.given[f.Name] = where
	return nil
}

// where names the source of a value that the command line has not set.
func (s *settings) where(f *pflag.Flag) string {
	if env := envOf(f); os.Getenv(env) != "" {
		return env
	}
	return fmt.Sprintf("%s in %s", f.Name, shown(s.file))
}

// scalar returns a value of the file as it would stand on the command line.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// commaSeparated returns a list of the file as it would stand on the command line.
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

// has reports whether somebody has chosen a value for the flag. A switch that is off is no choice.
func (s *settings) has(flag string) bool {
	f := s.flags.Lookup(flag)
	off := f.Value.Type() == "bool" && f.Value.String() == "false"
	return s.given[flag] != "" && !off
}

// exclude refuses flags that contradict one another.
func (s *settings) exclude(one string, others []string, why string) error {
	if !s.has(one) {
		return nil
	}
	for _, other := range others {
		if s.has(other) {
			return usage("%s and %s exclude each other: %s", s.given[one], s.given[other], why)
		}
	}
	return nil
}

// require refuses flags that mean nothing without another.
func (s *settings) require(one string, others []string, why string) error {
	if s.has(one) {
		return nil
	}
	for _, other := range others {
		if s.has(other) {
			return usage("%s needs --%s: %s", s.given[other], one, why)
		}
	}
	return nil
}
