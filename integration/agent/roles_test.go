package agent_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// role is the variable that makes a process of this binary a writer or the command of the agent.
const role = "AGENT_TEST_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "writer":
		err = writeOn(os.Args[1], os.Args[2])
	case "stopper":
		err = stop(os.Getenv("HOLDFAST_METADATA_PID"), os.Getenv("HOLDFAST_METADATA_BORN"))
	default:
		os.Exit(stand.Main(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writeOn appends a line to a file again and again, without a fence, until it is killed. Each line is one write, so the
// order of the lines is that of the writes, whichever processes they come from. The first goes to standard output, too,
// with the process id.
func writeOn(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	pace := time.NewTicker(time.Millisecond)
	for n := 0; ; n++ {
		if _, err := f.WriteString(line + "\n"); err != nil {
			return err
		}
		if n == 0 {
			if _, err := fmt.Fprintln(os.Stdout, os.Getpid()); err != nil {
				return err
			}
		}
		<-pace.C
	}
}

// stop kills a process with its children and returns when all of them have ended. It is not an error if they have
// already.
func stop(id, born string) error {
	pid, err := strconv.Atoi(id)
	if err != nil || pid < 2 || born == "" {
		return fmt.Errorf("the metadata name no process: pid %q, born %q", id, born)
	}
	holder := process{pid, born}
	if holder.hasEnded() {
		return nil
	}
	if err := known(unix.Kill(pid, unix.SIGSTOP)); err != nil { // from now on it starts no other process
		return err
	}
	family, err := holder.family()
	if err != nil {
		return err
	}
	for _, p := range family {
		if err := known(unix.Kill(p.pid, unix.SIGKILL)); err != nil {
			return err
		}
	}
	for _, p := range family {
		if err := p.awaitEnd(); err != nil {
			return err
		}
	}
	return nil
}
