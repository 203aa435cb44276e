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

// process is another run of this program, as the demonstration uses them.
type process struct {
	cmd    *exec.Cmd
	in     io.Writer
	lines  chan string // closed when it says no more
	errors *bytes.Buffer
	ended  chan struct{}
}

// startProcess runs this program with these arguments, and with none of the environment that would
// change what they mean. Whoever starts it kills it.
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

// listen ends with the process.
func (p *process) listen(out io.Reader) {
	defer close(p.ended)
	defer close(p.lines)
	defer func() { _ = p.cmd.Wait() }()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.lines <- lines.Text()
	}
}

// next returns the next line that the process says.
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

// hear returns the value of the next line, which begins with this word.
func (p *process) hear(ctx context.Context, word string) (string, error) {
	line, err := p.next(ctx)
	if err != nil {
		return "", err
	}
	said, value, _ := strings.Cut(line, " ")
	if said != word {
		return "", fmt.Errorf("%s said %q, and not %q", p.name(), line, word)
	}
	return value, nil
}

// ready returns the address of a server once that is ready.
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

// order tells the process something.
func (p *process) order(word string) error {
	_, err := fmt.Fprintln(p.in, word)
	return err
}

// kill ends the process, paused or not, and returns when it has ended.
func (p *process) kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return
	}
	for range p.lines { // what it said last is not heard any more
	}
	<-p.ended
}
