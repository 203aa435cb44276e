package agent_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// holder is a process that writes under holdfast lock, as soon as it has the lock.
type holder struct {
	lock *exec.Cmd
	// begun is closed when it has written for the first time; writer is set by then.
	begun  chan struct{}
	writer process
	// ended is closed when both processes have ended.
	ended chan struct{}
}

// underLock replaces a shell by holdfast lock, with the id and the start time of the process in the metadata.
const underLock = `exec "$0" lock --metadata pid=$$ --metadata born="$(cut -d ' ' -f 22 "/proc/$$/stat")" "$@"`

// launch starts a holder with a number, which is what it writes.
func (c *chain) launch(t *testing.T, number int) *holder {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{begun: make(chan struct{}), ended: make(chan struct{})}
	args := []string{"-c", underLock, stand.Binary(t), c.resource, "--server", c.url, "--ttl", ttl.String(),
		"--on-lost", "kill"}
	h.lock = exec.Command("/bin/sh", append(append(args, c.flags...), "--", os.Args[0], c.file,
		strconv.Itoa(number))...)
	h.lock.Env, h.lock.Stdout = environ("writer"), write
	stand.Must(t, h.lock.Start())
	_ = write.Close()
	go h.follow(t, read)
	t.Cleanup(func() {
		_ = h.lock.Process.Kill() // the kernel then kills the writer
		<-h.ended
	})
	return h
}

// environ is the environment of a process with a role, without settings of this one.
func environ(of string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), role + "=" + of}
}

// follow reads the id of the writer, and then waits until the pipe is closed, which both processes have.
func (h *holder) follow(t *testing.T, pipe *os.File) {
	t.Helper()
	defer close(h.ended)
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Error(err)
			continue
		}
		h.writer = processOf(pid)
		close(h.begun)
	}
	_ = h.lock.Wait() // it was killed, or has lost the lock
	_ = pipe.Close()
}

// processes returns the processes of a holder that has begun: holdfast lock and the writer.
func (h *holder) processes() []process { return []process{processOf(h.lock.Process.Pid), h.writer} }

// pause stops the processes, and reports whether all of them were there to be stopped.
func pause(t *testing.T, processes []process) bool {
	t.Helper()
	for _, p := range processes {
		p.signal(t, unix.SIGSTOP)
		stand.Eventually(t, "the process is stopped or has ended",
			func() bool { return p.state() == "T" || p.hasEnded() })
		if p.hasEnded() {
			return false
		}
	}
	return true
}
