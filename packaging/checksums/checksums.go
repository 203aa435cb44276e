// Package checksums writes and reads SHA256SUMS, in the format of sha256sum -c.
package checksums

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is the name of the list in its directory.
const File = "SHA256SUMS"

// Write writes the checksums of the files of a directory. Folders and an earlier list are not in it.
func Write(dir string) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		if e.IsDir() || e.Name() == File {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, File), sums.Bytes(), 0o644)
}

// Sum is the checksum of a file.
type Sum struct{ Name, SHA256 string }

// Read returns the list of a directory. It does not compare the files with it.
func Read(dir string) (sums []Sum, err error) {
	content, err := os.ReadFile(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; build the packages first", err)
	}
	for line := range strings.Lines(string(content)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || len(sum) != 2*sha256.Size {
			return nil, fmt.Errorf("%s: line %q: want a checksum, two spaces and a name", File, line)
		}
		sums = append(sums, Sum{name, sum})
	}
	return sums, err
}
