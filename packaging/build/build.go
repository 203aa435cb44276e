package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// build makes the packages of one version. Commands run in the folder of this module, below the root of the repository.
type build struct {
	version version
	time    time.Time
	dir     string // where the packages are written
	work    string // for files on their way into the packages
}

// newBuild writes what is the same in all packages: the man pages and the completions, which the program makes itself.
func newBuild(ctx context.Context, v version, at time.Time, dir string) (*build, error) {
	work, err := os.MkdirTemp("", "packages-")
	if err != nil {
		return nil, err
	}
	b := &build{version: v, time: at, dir: dir, work: work}
	if err := b.writePages(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *build) close() { _ = os.RemoveAll(b.work) }

func (b *build) writePages(ctx context.Context) error {
	program := filepath.Join(b.work, "host", "holdfast")
	if err := b.compile(ctx, nil, program); err != nil {
		return err
	}
	if _, err := output(ctx, nil, program, "manual", filepath.Join(b.work, "man")); err != nil {
		return err
	}
	for _, c := range completions {
		script, err := output(ctx, nil, program, "completion", c.shell)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(b.work, "completions", c.file), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// completions are the scripts of the shells and where a Linux distribution has them.
var completions = []struct{ shell, file, folder string }{
	{"bash", "holdfast.bash", "usr/share/bash-completion/completions/holdfast"},
	{"zsh", "_holdfast", "usr/share/zsh/vendor-completions/_holdfast"},
	{"fish", "holdfast.fish", "usr/share/fish/vendor_completions.d/holdfast.fish"},
}

// compile builds the program as `make build` does, without the tables of debuggers, for the platform that env names,
// else for this one.
func (b *build) compile(ctx context.Context, env []string, program string) error {
	_, err := output(ctx, append(env, "CGO_ENABLED=0"), "go", "build", "-C", "..", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands.version="+
			b.version.described, "-o", program, "./cmd/holdfast")
	return err
}

// make makes everything for one platform.
func (b *build) make(ctx context.Context, t target) error {
	program := b.program(t)
	if err := b.compile(ctx, t.env(), program); err != nil {
		return err
	}
	if err := b.writeMaterials(ctx, t, program); err != nil {
		return err
	}
	if err := b.writeArchive(t, program); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return b.writePackages(t, program)
}

// program returns the name of the compiled program of a platform.
func (b *build) program(t target) string { return filepath.Join(b.work, t.os+"-"+t.arch, t.binary()) }

func (t target) env() []string { return []string{"GOOS=" + t.os, "GOARCH=" + t.arch} }

// file returns the name of a package's file.
func (b *build) file(t target, suffix string) string {
	return filepath.Join(b.dir, fmt.Sprintf("holdfast_%s_%s_%s%s", b.version.semantic, t.os, t.arch, suffix))
}

// output runs a command and returns its standard output; the error contains its standard error.
func output(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, &stderr)
	}
	return stdout.Bytes(), nil
}

// write writes a file, and its folder if it is missing.
func write(name string, content []byte, mode os.FileMode) error {
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, content, mode))
}
