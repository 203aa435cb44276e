package settings

import (
	"errors"
	"io/fs"
	"os"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// CheckFlag refuses the file of a flag if it cannot be read.
func CheckFlag(s *Settings, flag string) error {
	return CheckFile(s.Given[flag], s.flags.Lookup(flag).Value.String())
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
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
