package fencefile_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
)

const (
	roleEnv = "FENCEFILE_TEST_ROLE"
	dirEnv  = "FENCEFILE_TEST_DIR"
)

// The roles of processes. Each reads tokens, one in a line, and answers each with a line.
const (
	roleWriter   = "writer"   // writes once for each token
	roleRestless = "restless" // writes without end under the first token
	roleInside   = "inside"   // stays in the middle of its change
)

// The answers of a writer.
const (
	written = "written"
	refused = "refused" // as stale
)

// play is what a process does until its input ends or it is killed.
func play(role, dir string) error {
	d, err := fencefile.Open(dir)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		token, err := strconv.ParseUint(in.Text(), 10, 64)
		if err != nil {
			return err
		}
		c := claim(fence.Token(token))
		switch role {
		case roleInside:
			return d.Do(context.Background(), c, func(*os.Root) error {
				err := say("inside")
				in.Scan() // nothing comes
				return err
			})
		case roleRestless:
			return writeOn(d, c)
		}
		if err := answer(writeOrder(d, c, 0)); err != nil {
			return err
		}
	}
	return in.Err()
}

func writeOn(d *fencefile.Dir, c fence.Claim) error {
	for number := 1; ; number++ {
		if err := writeOrder(d, c, number); err != nil {
			return err
		}
		if err := say(number); err != nil {
			return err
		}
	}
}

func answer(err error) error {
	switch {
	case err == nil:
		return say(written)
	case errors.Is(err, fence.ErrStale):
		return say(refused)
	}
	return err
}

func say(what any) error {
	_, err := fmt.Fprintln(os.Stdout, what)
	return err
}

// writeOrder writes an order that says who wrote it, and by its sum that it is whole.
func writeOrder(d *fencefile.Dir, c fence.Claim, number int) error {
	body := fmt.Sprintf("%d %d %s", c.Token, number, strings.Repeat("x", rand.IntN(1<<16)))
	return d.Write(context.Background(), c, fileName,
		fmt.Appendf(nil, "%s %08x", body, crc32.ChecksumIEEE([]byte(body))), 0o644)
}

// readOrder reads an order as anybody would, without a lock.
func readOrder(tb testing.TB, dir string) (token fence.Token, number int) {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		tb.Fatal(err)
	}
	end := strings.LastIndexByte(string(content), ' ')
	if end < 0 || fmt.Sprintf(" %08x", crc32.ChecksumIEEE(content[:end])) != string(content[end:]) {
		tb.Fatalf("the file is not whole: %d bytes, %.40q", len(content), content)
	}
	if _, err := fmt.Sscan(string(content), &token, &number); err != nil {
		tb.Fatal(err)
	}
	return token, number
}

// process is the test binary in a role.
type process struct {
	testing.TB
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func mustRun(tb testing.TB, role, dir string) *process {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	cmd.Stderr = tb.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p := &process{tb, cmd, in, bufio.NewReader(out)}
	tb.Cleanup(p.kill)
	return p
}

func (p *process) send(token fence.Token) {
	p.Helper()
	if _, err := fmt.Fprintln(p.in, uint64(token)); err != nil {
		p.Fatal(err)
	}
}

func (p *process) line() string {
	p.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// stop pauses the process as a long swap or a debugger does, and returns when it stands still.
func (p *process) stop() {
	p.Helper()
	p.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		p.Fatalf("%v, %v", status, err)
	}
}

func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// kill may be called twice.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// writeFor lets a restless process write once and then for about d, kills it, and returns the last
// write that it has confirmed.
func (p *process) writeFor(d time.Duration) (confirmed int) {
	p.Helper()
	p.line()
	time.AfterFunc(d, func() { _ = p.cmd.Process.Kill() })
	confirmed = 1
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.kill()
			return confirmed
		}
		if confirmed, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			p.Fatal(err)
		}
	}
}
