//go:build linux

package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func mustStart(t *testing.T, inside *namespace) *process {
	t.Helper()
	p, err := startProcess(inside, t.TempDir(), &output{}, "sleep", "1000")
	mustDo(t, err)
	return p
}

func TestPauseUnproved(t *testing.T) {
	t.Parallel()
	inside, err := newThread()
	mustDo(t, err)
	defer inside.close()
	n := &node{name: "n1", process: mustStart(t, inside), output: &output{}}
	hit := []*node{n}
	heal, err := pause(t.Context(), nil, Fault{}, hit)
	mustDo(t, err)
	if _, err := heal(t.Context()); err != nil {
		t.Error(err)
	}
	heal, err = pause(t.Context(), nil, Fault{}, hit)
	mustDo(t, err)
	mustDo(t, n.process.resume())
	mustDo(t, eventually(t.Context(), patience, func(context.Context) error {
		if n.process.isStopped() == nil {
			return errors.New("it is still stopped")
		}
		return nil
	}))
	if _, err := heal(t.Context()); !errors.Is(err, ErrNoEvidence) {
		t.Errorf("it was running: %v", err)
	}
	if _, err := goneAll([]int{n.process.pid}, nil); !errors.Is(err, ErrNoEvidence) {
		t.Errorf("it lives: %v", err)
	}
	mustDo(t, n.process.end(t.Context(), unix.SIGKILL))
	if _, err := pause(t.Context(), nil, Fault{}, hit); !errors.Is(err, ErrEnded) {
		t.Errorf("it is dead: %v", err)
	}
}

// A process that never syncs has no fsyncs to fail.
func TestFsyncUnproved(t *testing.T) {
	t.Parallel()
	needRoot(t)
	inside, err := newThread()
	mustDo(t, err)
	defer inside.close()
	n := &node{name: "n1", dir: t.TempDir(), thread: inside, process: mustStart(t, inside), output: &output{}}
	heal, err := fsyncSlow(t.Context(), nil, KindFsyncSlow.On("n1").By(time.Millisecond, 0), []*node{n})
	mustDo(t, err)
	if _, err := heal(t.Context()); !errors.Is(err, ErrNoEvidence) {
		t.Errorf("it has not called fsync: %v", err)
	}
}

// A power cut of which the disk does not know is none.
func TestPowerCutUnproved(t *testing.T) {
	t.Parallel()
	d := mustDisk(t)
	inside, err := newThread()
	mustDo(t, err)
	defer inside.close()
	n := &node{name: "n1", dir: t.TempDir(), thread: inside, disk: d, output: &output{}}
	n.command = func() []string { return []string{"sleep", "1000"} }
	mustDo(t, d.witness())
	if err := n.boot(t.Context()); !errors.Is(err, ErrNoEvidence) {
		t.Errorf("nothing was lost: %v", err)
	}
	if _, err := n.running(); err != nil {
		t.Errorf("it is not started again: %v", err)
	}
}

// A wait for health does not wait for a process that has ended by itself.
func TestEnded(t *testing.T) {
	t.Parallel()
	c := Start(t, Config{Loopback: true, Nodes: 1, Shards: 1})
	mustDo(t, c.WaitHealthy(t.Context()))
	n := c.nodes[0]
	p, err := n.running()
	mustDo(t, err)
	mustDo(t, p.end(t.Context(), unix.SIGKILL))
	if err := c.WaitHealthy(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("it has ended: %v", err)
	}
	mustDo(t, n.restart(t.Context()))
	mustDo(t, c.WaitHealthy(t.Context()))
}

func TestAlarm(t *testing.T) {
	t.Parallel()
	var o output
	_, _ = o.Write([]byte("all is well\n"))
	if o.alarm() != "" {
		t.Error(o.alarm())
	}
	_, _ = o.Write([]byte("panic: no\n"))
	for range 3 * maxOutput / 100 {
		_, _ = o.Write(make([]byte, 100))
	}
	if o.alarm() == "" || len(o.String()) > maxOutput || len(o.text) > 2*maxOutput {
		t.Errorf("%q, %d bytes kept", o.alarm(), len(o.text))
	}
}
