package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// idleFor is how long the idle process is watched in an iteration.
const idleFor = 20 * time.Second

// BenchmarkIdle says what a node with 8 shards costs that nobody asks anything. Run it with
// -benchtime=1x. It reads /proc, so it needs Linux.
func BenchmarkIdle(b *testing.B) {
	p := serve(b, "--shards", "8")
	for b.Loop() {
		before, start := p.cpu(), time.Now()
		<-time.After(idleFor)
		used := p.cpu() - before
		b.ReportMetric(100*used.Seconds()/time.Since(start).Seconds(), "%core")
		b.ReportMetric(float64(p.resident())/1e6, "MB")
	}
}

// process is a running binary.
type process struct {
	testing.TB
	cmd *exec.Cmd
	pid int
	url string
}

// wait waits for the end of the process, however it came.
func (p *process) wait() { _ = p.cmd.Wait() }

// serve builds the binary and starts a server on any port, which ends with the test.
func serve(tb testing.TB, args ...string) *process {
	tb.Helper()
	dir := tb.TempDir()
	return start(tb, build(tb, dir), filepath.Join(dir, "data"), args...)
}

// build makes the binary and returns its path.
func build(tb testing.TB, dir string) string {
	tb.Helper()
	binary := filepath.Join(dir, "holdfast")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "github.com/holdfast-io/holdfast/cmd/holdfast")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// start starts a server that is ready when this returns.
func start(tb testing.TB, binary, data string, args ...string) *process {
	tb.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatalf("the server ended before it was ready: %v", err)
	}
	p := &process{TB: tb, cmd: cmd, pid: cmd.Process.Pid}
	for _, word := range strings.Fields(line) {
		if strings.HasPrefix(word, "nats://") {
			p.url = strings.TrimRight(word, ",.;")
		}
	}
	if p.url == "" {
		tb.Fatalf("no address in %q", line)
	}
	return p
}

// cpu returns how much processor time the process has used.
func (p *process) cpu() time.Duration {
	p.Helper()
	const tick = time.Second / 100 // USER_HZ, the same on every Linux
	stat := p.read("stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			p.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// resident returns how many bytes of memory the process has.
func (p *process) resident() int64 {
	p.Helper()
	for line := range strings.Lines(string(p.read("status"))) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kb)[0], 10, 64)
			if err != nil {
				p.Fatal(err)
			}
			return n << 10
		}
	}
	p.Fatal("no VmRSS")
	return 0
}

func (p *process) read(file string) []byte {
	p.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, file))
	if err != nil {
		p.Fatal(err)
	}
	return data
}
