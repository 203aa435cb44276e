package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Holdfast builds the command from the source in the directory, and returns the path of the binary.
func Holdfast(ctx context.Context, source, into string) (string, error) {
	program := filepath.Join(into, "holdfast")
	_, err := output(ctx, source, "go", "build", "-buildvcs=false", "-trimpath", "-o", program, "./cmd/holdfast")
	return program, err
}

// HoldfastAt builds the command as it was at a commit. The checkout is removed afterwards.
func HoldfastAt(ctx context.Context, repository, commit, into string) (program string, err error) {
	checkout := filepath.Join(into, "checkout")
	if _, err := output(ctx, repository, "git", "worktree", "add", "--detach", checkout, commit); err != nil {
		return "", err
	}
	defer func() {
		if _, rest := output(context.WithoutCancel(ctx), repository, "git", "worktree", "remove", "--force", checkout); err == nil {
			err = rest
		}
	}()
	return Holdfast(ctx, checkout, into)
}

// Tool builds a program that a Go module requires as a tool, and returns its path.
func Tool(ctx context.Context, module, name string) (string, error) {
	return output(ctx, module, "go", "tool", "-n", name)
}

// Repository returns the root of the repository, of which the process must run in the module of the benchmark.
func Repository(ctx context.Context) (string, error) {
	return output(ctx, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/holdfast-io/holdfast")
}

// Commit returns the short name of a commit. An empty one is the working tree: its commit, and whether it has changes.
func Commit(ctx context.Context, repository, commit string) (string, error) {
	if commit != "" {
		return output(ctx, repository, "git", "rev-parse", "--short", commit+"^{commit}")
	}
	name, err := output(ctx, repository, "git", "describe", "--always", "--dirty", "--exclude", "*")
	if err != nil {
		return "working tree", nil // git refuses a clone that another user owns; the name is for the report only
	}
	return name, nil
}

// Version returns the first line that a program prints about its version.
func Version(ctx context.Context, program string, args ...string) (string, error) {
	text, err := output(ctx, ".", program, args...)
	line, _, _ := strings.Cut(text, "\n")
	return line, err
}

// output runs a command in a directory and returns what it prints, without the last line break.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
