package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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
	lines  chan string // closed at the end of the output
	errors *bytes.Buffer
	ended  chan struct{}
}

// startProcess runs this program with these arguments, without the environment variables that set flags. The
// caller must call kill.
func startProcess(ctx context.Context, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{
		cmd: exec.CommandContext(ctx, self, args...), lines: make(chan string, 16), errors: &bytes.Buffer{}, ended: make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Stderr = withoutSettings(os.Environ()), p.errors
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
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

// listen reads the output until the process ends.
func (p *process) listen(out io.Reader) {
	defer close(p.ended)
	defer close(p.lines)
	defer func() { _ = p.cmd.Wait() }()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.lines <- lines.Text()
	}
}

// next returns the next line of the output.
func (p *process) next(ctx context.Context) (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", p.silence()
		}
		return line, nil
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for %s: %w", p.name(), context.Cause(ctx))
	}
}

func (p *process) silence() error {
	said := strings.TrimSpace(p.errors.String())
	return fmt.Errorf("%s has ended: %s", p.name(), said)
}

func (p *process) name() string { return strings.Join(p.cmd.Args[1:], " ") }

// hear returns the value of the next line, which must begin with this word.
func (p *process) hear(ctx context.Context, word string) (string, error) {
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
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return
	}
	for range p.lines { // listen must not block on unread lines
	}
	<-p.ended
}
