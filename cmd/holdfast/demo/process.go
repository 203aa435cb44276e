package demo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// process is a child process that runs this program.
type process struct {
	cmd    *exec.Cmd
	in     io.Writer
	lines  *bufio.Scanner
	errors bytes.Buffer
}

// startProcess runs this program with these arguments, without the environment variables that set flags. It is killed
// at the end of ctx. The caller must call kill.
func startProcess(ctx context.Context, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self, args...)}
	p.cmd.Env, p.cmd.Stderr = withoutSettings(os.Environ()), &p.errors
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

// withoutSettings returns the environment without the variables that stand for flags.
func withoutSettings(environment []string) (rest []string) {
	for _, variable := range environment {
		if !strings.HasPrefix(variable, "HOLDFAST_") && !strings.HasPrefix(variable, "NATS_") {
			rest = append(rest, variable)
		}
	}
	return rest
}

// next returns the next line of the output.
func (p *process) next(ctx context.Context) (string, error) {
	if p.lines.Scan() {
		return p.lines.Text(), nil
	}
	_ = p.cmd.Wait() // errors is complete then
	if ctx.Err() != nil {
		return "", fmt.Errorf("waiting for %s: %w", p.name(), context.Cause(ctx))
	}
	return "", fmt.Errorf("%s has ended: %s", p.name(), strings.TrimSpace(p.errors.String()))
}

func (p *process) name() string { return strings.Join(p.cmd.Args[1:], " ") }

// read returns the value of the next line, which must begin with this word.
func (p *process) read(ctx context.Context, word string) (string, error) {
	line, err := p.next(ctx)
	if err != nil {
		return "", err
	}
	said, value, _ := strings.Cut(line, " ")
	if said != word {
		return "", fmt.Errorf("%s printed %q instead of %q", p.name(), line, word)
	}
	return value, nil
}

// ready waits until a server is ready and returns its address.
func (p *process) ready(ctx context.Context) (string, error) {
	for {
		line, err := p.next(ctx)
		if err != nil {
			return "", err
		}
		if i := strings.Index(line, "nats://"); i >= 0 && strings.Contains(line, "ready") {
			return strings.Fields(line[i:])[0], nil
		}
	}
}

// order writes a line to standard input of the process.
func (p *process) order(word string) error {
	_, err := fmt.Fprintln(p.in, word)
	return err
}

// kill ends the process, paused or not, and returns when it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}
