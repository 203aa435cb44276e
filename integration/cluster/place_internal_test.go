//go:build linux

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// victim makes TestVictim be one.
const victim = "HOLDFAST_CLUSTER_VICTIM"

// TestVictim is the process that TestCrash kills: it has a disk, a network and another process.
func TestVictim(t *testing.T) {
	if os.Getenv(victim) == "" {
		t.Skip("TestCrash starts it")
	}
	d := mustDisk(t)
	n, err := newNetwork(0)
	mustDo(t, err)
	_, err = n.join("n1", d.within, 11)
	mustDo(t, err)
	p := mustStart(t, d.within)
	_, err = fmt.Fprintf(os.Stderr, "victim %d %s\n", p.pid, d.mountpoint)
	mustDo(t, err)
	<-p.done
}

// A crash of the tests leaves no process and no mount behind, and files only until the next process comes.
func TestCrash(t *testing.T) {
	t.Parallel()
	needRoot(t)
	alive := mustPlace(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victim+"=yes")
	said, err := cmd.StderrPipe()
	mustDo(t, err)
	mustDo(t, cmd.Start())
	var pid int
	var dir string
	line, err := bufio.NewReader(said).ReadString('\n')
	mustDo(t, err)
	_, err = fmt.Sscanf(line, "victim %d %s\n", &pid, &dir)
	mustDo(t, err)
	if !isMounted(t, pid, dir) || gone(pid) {
		t.Fatalf("the victim does not live: %s", line)
	}
	mustDo(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	mustDo(t, eventually(t.Context(), patience, func(context.Context) error {
		if !gone(pid) {
			return errors.New("its process lives on")
		}
		return nil
	}))
	mustPlace(t)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its disk is left over: %v", err)
	}
	if _, err := os.Stat(alive.dir); err != nil {
		t.Errorf("what is alive was removed: %v", err)
	}
}

// A place that is removed while others look for what is left over does not disturb them.
func TestPlacesComeAndGo(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				p, err := newPlace()
				if err == nil {
					err = p.remove()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// isMounted reports whether the process sees a mount at the directory.
func isMounted(t *testing.T, pid int, dir string) bool {
	t.Helper()
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", pid))
	mustDo(t, err)
	return strings.Contains(string(mounts), " "+dir+" ")
}
