package settings

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// CheckFiles refuses the files of flags that cannot be read.
func (s *Settings) CheckFiles(flags ...string) error {
	for _, flag := range flags {
		if err := CheckFile(s.Given[flag], s.flags.Lookup(flag).Value.String()); err != nil {
			return err
		}
	}
	return nil
}

// CheckFileList refuses the files of a list that has not one file for each of the parts, or one that cannot be read. No
// file at all is no list.
func (s *Settings) CheckFileList(flag string, files []string, parts ...string) error {
	if len(files) != 0 && len(files) != len(parts) {
		return exit.Usagef("%s: %d files, separated by commas: %s; got %d",
			s.Given[flag], len(parts), strings.Join(parts, ", "), len(files))
	}
	for _, file := range files {
		if file == "" {
			return exit.Usagef("%s: a file must not be empty", s.Given[flag])
		}
		if err := CheckFile(s.Given[flag], file); err != nil {
			return err
		}
	}
	return nil
}

// CheckFile refuses a file that cannot be read, with a clearer reason than that of NATS. An empty path is no file.
func CheckFile(where, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return exit.Usagef("%s: cannot read %q: %w", where, path, RootCause(err))
	}
	return file.Close()
}

// RootCause removes the path that an error of a file repeats.
func RootCause(err error) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return path.Err
	}
	return err
}
