package main_test

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

	"github.com/nats-io/nats.go"

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
		atOnce      = 32        // connect before: only what happens after the kill is a storm
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
	clients, locks := make([]*holdfast.Client, *stormClients), make([]*holdfast.Lock, *stormClients)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var acquiring sync.WaitGroup
	for from := range atOnce {
		acquiring.Go(func() {
			for i := from; i < len(locks) && !t.Failed(); i += atOnce {
				c, err := holdfast.New(stand.Dial(t, first.url, nats.Timeout(time.Minute)))
				if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				clients[i] = c
				if locks[i], err = c.Acquire(ctx, fmt.Sprint("storm.", i), holdfast.TTL(10*time.Minute)); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			}
		})
	}
	if acquiring.Wait(); t.Failed() {
		return
	}
	first.kill(t)
	second := serve(strings.TrimPrefix(first.url, "nats://"))
	began := time.Now()
	var extending sync.WaitGroup
	for i, lock := range locks {
		extending.Go(func() {
			if err := lock.Extend(ctx, 10*time.Minute); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	extending.Wait()
	took := time.Since(began)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", second.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(status))[1])
	if most := spareMemory + *stormClients*each; err != nil || peak > most {
		t.Errorf("at most %d kB resident, %v; want at most %d", peak, err, most)
	}
	var closing sync.WaitGroup
	for i, c := range clients {
		closing.Go(func() {
			if err := c.Close(ctx); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	closing.Wait()
	t.Logf("%d clients: the last one extended its lock %v after the node was ready; at most %d MB resident",
		*stormClients, took.Round(time.Millisecond), peak>>10)
}
