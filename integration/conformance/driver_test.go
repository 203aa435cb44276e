package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// mostLine bounds a line that a driver writes.
const mostLine = 1 << 20

// driver is a process that carries out the commands of one case after the other.
type driver struct {
	process *exec.Cmd
	in      io.WriteCloser
	stderr  *stand.Lines

	mu sync.Mutex
	// gone: it was asked to end, or killed.
	gone bool
	// changed is closed by the next line, and at the end.
	changed chan struct{}
	// begun is when the case began, commands and notes are its own; earlier is how many commands came before them.
	begun    int64
	earlier  int
	commands []*command
	notes    []map[string]any
	// ended: the output has ended. broken is what was wrong with it.
	ended  bool
	broken error
}

// command is a command to a driver.
type command struct {
	id   int
	step *step
	// sent and came are when it was sent and answered; came is 0 until then.
	sent, came int64
	answer     answer
}

// answer is a result, or an error.
type answer struct {
	ok, err any
}

// pool has the processes of a language: starting one takes longer than most cases. They end with the test t.
type pool struct {
	t *testing.T
	language
	url string // of the deployment where a new process takes its first lock

	idle chan *driver
	// starting has room for the process that is being started: many at once would take the time of the cases.
	starting chan struct{}
}

// mostIdle is above the number of cases that run at the same time.
const mostIdle = 1000

func newPool(t *testing.T, l language, url string) *pool {
	t.Helper()
	return &pool{t: t, language: l, url: url, idle: make(chan *driver, mostIdle), starting: make(chan struct{}, 1)}
}

// take returns a process for the case t. It carries out another one if that one has passed.
func (p *pool) take(t *testing.T) *driver {
	t.Helper()
	d := p.ready(t)
	before := len(d.stderr.String())
	t.Cleanup(func() {
		if !t.Failed() {
			p.idle <- d
			return
		}
		d.gone = true
		_ = d.process.Process.Kill()
		if text := d.stderr.String()[before:]; text != "" {
			t.Logf("the driver wrote to standard error:\n%s", text)
		}
	})
	d.begin()
	return d
}

// ready returns a process that has carried out a case, or a new one. While one is being started, it waits for either.
func (p *pool) ready(t *testing.T) *driver {
	t.Helper()
	select {
	case d := <-p.idle:
		return d
	default:
	}
	select {
	case d := <-p.idle:
		return d
	case p.starting <- struct{}{}:
		defer func() { <-p.starting }()
		return p.start(t)
	}
}

// start starts a process for the case t. It has taken a lock when it returns: virtual machines load their classes for
// that, which may take longer than a lease of a case.
func (p *pool) start(t *testing.T) *driver {
	t.Helper()
	d := startDriver(p.t, p.command)
	p.t.Cleanup(func() {
		if !d.gone {
			p.end(d)
		}
	})
	if err := d.lock(p.url); err != nil {
		d.gone = true
		t.Fatalf("the first lock of a driver: %v\nit wrote to standard error:\n%s", err, d.stderr)
	}
	return d
}

// archive has a virtual machine of Java leave its classes in a file, with which the others start in two thirds of the
// time.
func (p *pool) archive() {
	p.t.Helper()
	file, command := filepath.Join(p.t.TempDir(), "classes"), p.command
	p.command = slices.Insert(slices.Clone(command), 1, "-Xlog:disable", "-XX:ArchiveClassesAtExit="+file)
	p.end(p.start(p.t))
	p.command = slices.Insert(slices.Clone(command), 1, "-Xlog:disable", "-XX:SharedArchiveFile="+file)
}

// end ends a process.
func (p *pool) end(d *driver) {
	d.gone = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), patience)
	defer cancel()
	if err := d.end(ctx); err != nil {
		p.t.Errorf("%v\nthe driver wrote to standard error:\n%s", err, d.stderr)
	}
}

// lock takes a lock that no case has, and releases it.
func (d *driver) lock(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, command := range []map[string]any{
		{"call": "open", "client": "first", "url": url, "user": batchUser, "password": password},
		{
			"call": "acquire", "client": "first", "lock": "first", "ttl_ms": patience.Milliseconds(),
			"name": fmt.Sprintf("first.%d", d.process.Process.Pid),
		},
		{"call": "release", "lock": "first"},
		{"call": "close", "client": "first"},
	} {
		c, err := d.send(&step{stepMembers: stepMembers{Call: command["call"].(string)}}, command)
		if err != nil {
			return err
		}
		a, err := d.wants(ctx, c)
		if err == nil && a.err != nil {
			err = fmt.Errorf("%v: %s", command["call"], text(a.err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin begins a case.
func (d *driver) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun, d.earlier, d.commands, d.notes = now(), d.earlier+len(d.commands), nil, nil
}

func startDriver(t *testing.T, words []string) *driver {
	t.Helper()
	d := &driver{process: exec.Command(words[0], words[1:]...), stderr: &stand.Lines{}, changed: make(chan struct{}),
		begun: now()}
	d.process.Dir, d.process.Stderr = root, d.stderr
	// else each process with the race detector ends a second later
	d.process.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	var err error
	if d.in, err = d.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := d.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.process.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		d.read(out)
	}()
	t.Cleanup(func() {
		_ = d.process.Process.Kill()
		<-read
		_ = d.process.Wait()
	})
	return d
}

// read takes in what the driver writes, until its output ends.
func (d *driver) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		err := d.take(lines.Bytes())
		d.change(func() {
			if err != nil && d.broken == nil {
				d.broken = fmt.Errorf("the driver wrote %q: %w", lines.Text(), err)
			}
		})
	}
	d.change(func() {
		d.ended = true
		if d.broken == nil && lines.Err() != nil {
			d.broken = lines.Err()
		}
	})
	_, _ = io.Copy(io.Discard, out)
}

func (d *driver) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	close(d.changed)
	d.changed = make(chan struct{})
}

// take takes in a line: an answer or a note.
func (d *driver) take(data []byte) error {
	at := now()
	v, err := parse(data)
	if err != nil {
		return err
	}
	line, ok := v.(map[string]any)
	if !ok {
		return errors.New("it is no object")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if line["note"] != nil {
		for _, member := range []string{"lock", "watch"} {
			name, ok := strings.CutPrefix(fmt.Sprint(line[member]), d.prefix())
			if line[member] != nil && !ok {
				return nil // of an earlier case
			}
			line[member] = name
		}
		d.notes = append(d.notes, line)
		if line["note"] == "lost" {
			return between(d.begun, line["at_ns"], at)
		}
		return nil
	}
	id, err := strconv.Atoi(fmt.Sprint(line["id"]))
	if err != nil || id <= d.earlier || id > d.earlier+len(d.commands) {
		return fmt.Errorf("no command has the id %v", line["id"])
	}
	c := d.commands[id-d.earlier-1]
	if c.came != 0 {
		return errors.New("the command was answered before")
	}
	if line["ok"] == nil == (line["error"] == nil) {
		return errors.New(`an answer has either "ok" or "error"`)
	}
	c.came, c.answer = at, answer{line["ok"], line["error"]}
	if result, ok := c.answer.ok.(map[string]any); ok && slices.Contains(timed, c.step.Call) {
		return between(c.sent, result["at_ns"], at)
	}
	return nil
}

// timed are the calls whose results have a moment.
var timed = []string{"acquire", "acquire_all", "campaign", "release"}

// between checks a moment that a driver reports. It is checked wherever it is reported, so that a driver with another
// clock is found out.
func between(begin int64, told any, end int64) error {
	at, err := moment(told)
	if err == nil && (at < begin || at > end) {
		err = fmt.Errorf(
			"at_ns is not within %d and %d, when it was asked and answered: it is to be of CLOCK_MONOTONIC", begin, end)
	}
	return err
}

func moment(told any) (int64, error) {
	s, ok := told.(string)
	if !ok {
		return 0, fmt.Errorf("at_ns is %s: it is a number as text", text(told))
	}
	return strconv.ParseInt(s, 10, 64)
}

// prefix is what names of clients, locks and watches begin with in the process, so that none is there twice.
func (d *driver) prefix() string {
	if d.earlier == 0 {
		return ""
	}
	return fmt.Sprintf("%d.", d.earlier)
}

// send sends a command with these members.
func (d *driver) send(s *step, members map[string]any) (*command, error) {
	d.mu.Lock()
	c := &command{id: d.earlier + len(d.commands) + 1, step: s, sent: now()}
	members["id"] = c.id
	for _, member := range []string{"client", "lock", "watch"} {
		if name, ok := members[member].(string); ok {
			members[member] = d.prefix() + name
		}
	}
	d.commands = append(d.commands, c)
	d.mu.Unlock()
	data, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	if _, err := d.in.Write(append(data, '\n')); err != nil {
		return nil, fmt.Errorf("the driver has ended: %w", err)
	}
	return c, nil
}

// wait waits until it is so, which is looked at with d.mu held.
func (d *driver) wait(ctx context.Context, is func() bool) error {
	for {
		d.mu.Lock()
		so, ended, broken, changed := is(), d.ended, d.broken, d.changed
		d.mu.Unlock()
		switch {
		case broken != nil:
			return broken
		case so:
			return nil
		case ended:
			return errors.New("the driver has ended")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("nothing came within %v", patience)
		}
	}
}

// wants returns the answer to a command.
func (d *driver) wants(ctx context.Context, c *command) (answer, error) {
	err := d.wait(ctx, func() bool { return c.came != 0 })
	return c.answer, err
}

// noted waits for a note.
func (d *driver) noted(ctx context.Context, want map[string]any) error {
	return d.wait(ctx, func() bool { return d.note(want) != nil })
}

// note returns the first note of this kind, nil if there is none. It is called with d.mu held.
func (d *driver) note(want map[string]any) map[string]any {
	for _, n := range d.notes {
		if match(want, n) == nil {
			return n
		}
	}
	return nil
}

// end asks the driver to end.
func (d *driver) end(ctx context.Context) error {
	if err := d.in.Close(); err != nil {
		return err
	}
	if err := d.wait(ctx, func() bool { return d.ended }); err != nil {
		return err
	}
	if err := d.process.Wait(); err != nil {
		return fmt.Errorf("the driver was to end with the status 0: %w", err)
	}
	return nil
}

// now returns the time of CLOCK_MONOTONIC in nanoseconds.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// stepContext bounds a step.
func stepContext(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), patience)
}
