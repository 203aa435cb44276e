package fencefile_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

func TestSuite(t *testing.T) { fencetest.Run(t, subject(t.TempDir())) }

func subject(dir string) fencetest.Subject {
	return fencetest.Subject{
		Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
			tb.Helper()
			return register{dir, mustOpen(tb, dir, fencefile.WithRule(rule))}
		},
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return register{dir, mustOpen(tb, dir, fencefile.WithObserver(o))}
		},
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return mustOpen(tb, dir, fencefile.WithRule(rule))
		},
		Restart:   func(testing.TB) {}, // every register opens the directory afresh
		Exclusive: true,
	}
}

// register keeps each value in a file of its own.
type register struct {
	dir string
	*fencefile.Dir
}

func (r register) Write(ctx context.Context, c fence.Claim, value string) error {
	return r.Dir.Write(ctx, c, fileOf(c.Resource), []byte(value), 0o644)
}

func (r register) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	return r.Dir.Modify(ctx, c, fileOf(c.Resource), 0o644, func(old []byte) ([]byte, error) {
		value, err := f(string(old))
		return []byte(value), err
	})
}

func (r register) Read(_ context.Context, resource string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.dir, fileOf(resource)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(content), err
}

func fileOf(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	return hex.EncodeToString(sum[:])
}
