package integration_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

var stormClients = flag.Int("storm.clients", 1000, "how many clients reconnect at once")

// Clients that all lose their node reconnect at once when it is back, and each still has its lock. The node has
// descriptors for them and few more, and memory in proportion.
func TestReconnectStorm(t *testing.T) {
	const (
		spareFiles  = 200
		spareMemory = 300 << 10 // kB
		each        = 150       // kB of memory for a client
	)
	dir := t.TempDir()
	serve := func(listen string) *process {
		script := fmt.Sprintf(`ulimit -n %d && exec "$@"`, *stormClients+spareFiles)
		p := prepare(t, exec.Command("sh", "-c", script, "sh", stand.Binary(t), "serve", "--data", dir, "--listen",
			listen), nil)
		p.launch(t)
		p.url = regexp.MustCompile(`nats://[^,"\s]+`).FindString(p.out.WaitFor(t, p.done, "is ready"))
		return p
	}
	first := serve("127.0.0.1:0")
	locks := make([]*holdfast.Lock, *stormClients)
	all := func(do func(i int) error) {
		t.Helper()
		var running sync.WaitGroup
		for i := range locks {
			running.Go(func() {
				if err := do(i); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		running.Wait()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	all(func(i int) (err error) {
		c := stand.Client(t, stand.Dial(t, first.url))
		locks[i], err = c.Acquire(ctx, fmt.Sprint("storm.", i), holdfast.TTL(10*time.Minute))
		return err
	})
	if t.Failed() {
		return
	}
	first.kill(t)
	second := serve(strings.TrimPrefix(first.url, "nats://"))
	began := time.Now()
	all(func(i int) error { return locks[i].Extend(ctx, 10*time.Minute) })
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", second.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(status))[1])
	if most := spareMemory + *stormClients*each; err != nil || peak > most {
		t.Errorf("at most %d kB resident, %v; want at most %d", peak, err, most)
	}
	t.Logf("%d clients: the last one extended its lock %v after the node was ready; at most %d MB resident",
		*stormClients, time.Since(began).Round(time.Millisecond), peak>>10)
}
