package settings

import (
	"errors"
	"io/fs"
	"os"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// CheckFlag makes sure that the file of a flag can be read.
func CheckFlag(s *Settings, flag string) error {
	return CheckFile(s.Given[flag], s.flags.Lookup(flag).Value.String())
}

// CheckFile makes sure that a file can be read, since NATS says less clearly why not. An empty path is no file.
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

// RootCause leaves out the path that file errors repeat.
func RootCause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
