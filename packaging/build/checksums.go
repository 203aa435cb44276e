package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// checksumsFile is in the format of sha256sum -c.
const checksumsFile = "SHA256SUMS"

func writeChecksums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return write(filepath.Join(dir, checksumsFile), sums.Bytes(), 0o644)
}
