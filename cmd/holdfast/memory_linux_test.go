package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// groupBytes is the memory of the group in these tests.
const groupBytes = 200 << 20

// group makes a control group with this much memory, in that of the test, and returns its directory.
func group(t *testing.T, name string) string {
	t.Helper()
	own := stand.Value(os.ReadFile("/proc/self/cgroup"))(t)
	parent, file := "", "memory.limit_in_bytes"
	if found := regexp.MustCompile(`(?m)^\d+:memory:(.*)$`).FindSubmatch(own); found != nil {
		parent = filepath.Join("/sys/fs/cgroup/memory", string(found[1]))
	} else { // of version 2 only a group without processes can limit those in it
		parent, file = "/sys/fs/cgroup", "memory.max"
	}
	dir := filepath.Join(parent, fmt.Sprintf("holdfast-%d-%s", os.Getpid(), name))
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Skipf("this test needs to make control groups: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(groupBytes)), 0o600); err != nil {
		t.Skipf("this test needs to limit the memory of control groups: %v", err)
	}
	return dir
}

// A node in a control group refuses what does not fit there, before the kernel ends it, whatever the flags say.
func TestControlGroup(t *testing.T) {
	for name, c := range map[string]struct {
		metadata, refusal string
		flags             []string
	}{
		"leases":   {"", `"error":"held: `, nil},
		"metadata": {strings.Repeat("x", 1000), `"error":"memory: `, nil},
		"flag":     {"", `"error":"memory: `, []string{"--max-held", "1000000"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := group(t, name)
			script := fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$@"`, dir)
			p := prepare(t, exec.Command("sh", append([]string{"-c", script, "sh", stand.Binary(t), "serve",
				"--listen", "127.0.0.1:0", "--name", "n1", "--shards", "4"}, c.flags...)...), nil)
			p.launch(t)
			p.url = regexp.MustCompile(`nats://[^,"\s]+`).FindString(p.out.WaitFor(t, p.done, "is ready"))
			if c.flags != nil {
				p.log.WaitFor(t, p.done, "a limit is more than fits into the control group")
			}
			refused, granted := fillLeases(t, p, c.metadata)
			if !strings.Contains(refused, c.refusal) {
				t.Errorf("refused with %s, want %s", refused, c.refusal)
			}
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			peak, err := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(status))[1])
			if err != nil || peak<<10 > groupBytes {
				t.Errorf("at most %d kB resident, %v", peak, err)
			}
			t.Logf("%d leases, at most %d MB resident, then %s", granted, peak>>10, refused)
			p.holdfast(t, "release", "fill.0", "--owner", "me", "--token", "1")
			if name == "leases" {
				examine(t, p.url).want(t, "load", doctor.Warning, `^node n1: \d+ leases are held, of at most \d+$`)
			}
		})
	}
}

// fillLeases acquires leases with 512 requests at a time until many were refused, and returns the first refusal and how
// many were granted.
func fillLeases(t *testing.T, p *process, metadata string) (refusal string, granted int64) {
	t.Helper()
	const enough = 5_000
	var next, got, not atomic.Int64
	var refused atomic.Pointer[string]
	var filling sync.WaitGroup
	for range 4 {
		nc := stand.Dial(t, p.url)
		for range 128 {
			filling.Go(func() {
				for not.Load() < enough {
					i := next.Add(1) - 1
					body := fmt.Sprintf(`{"owner":"me","ttl_ms":3600000,"metadata":{"m":%q}}`, metadata)
					m, err := nc.Request(fmt.Sprint("holdfast.acquire.fill.", i), []byte(body), bound)
					said, n := "", int64(1)
					switch {
					case err != nil:
						said, n = err.Error(), enough
					case strings.Contains(string(m.Data), `"GRANTED"`):
						got.Add(1)
						continue
					default:
						said = string(m.Data)
					}
					refused.CompareAndSwap(nil, &said)
					not.Add(n)
				}
			})
		}
	}
	filling.Wait()
	return *refused.Load(), got.Load()
}
