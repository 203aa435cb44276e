//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// tracer is an strace that tampers with the fsyncs of a process and says each time that it does.
type tracer struct {
	*process
	mark string

	mu       sync.Mutex
	rest     []byte // of a line that is not whole
	attached bool
	seen     int
	said     output
}

// trace returns when every fsync of the node is tampered with. Mark is what strace writes behind those.
func (n *node) trace(ctx context.Context, tamper, mark string) (*tracer, error) {
	p, err := n.running()
	if err != nil {
		return nil, err
	}
	const calls = "fsync,fdatasync"
	t := &tracer{mark: mark}
	t.process, err = startProcess(n.thread, n.dir, t, "strace", "-f", "-p", fmt.Sprint(p.pid),
		"-e", "trace="+calls, "-e", "inject="+calls+":"+tamper)
	if err != nil {
		return nil, err
	}
	if err := eventually(ctx, patience, t.isAttached); err != nil {
		_, end := t.detach(ctx)
		return nil, errors.Join(err, end)
	}
	return t, nil
}

func (t *tracer) isAttached(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.attached {
		return fmt.Errorf("strace is not attached; it said: %s", t.said.tail(5))
	}
	return nil
}

// detach returns how many fsyncs were tampered with. None is an error.
func (t *tracer) detach(ctx context.Context) (int, error) {
	var err error
	if !t.ended() { // it has if its process has
		if err = t.end(ctx, unix.SIGTERM); err != nil {
			err = errors.Join(err, t.end(ctx, unix.SIGKILL))
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == 0 {
		err = errors.Join(err, fmt.Errorf("%w: the process has not called fsync", ErrNoEvidence))
	}
	return t.seen, err
}

// Write implements [io.Writer]: it reads what strace says.
func (t *tracer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.said.Write(p)
	t.rest = append(t.rest, p...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		t.rest = rest
		t.attached = t.attached || bytes.Contains(line, []byte("attached"))
		if bytes.Contains(line, []byte(t.mark)) {
			t.seen++
		}
	}
}
