//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func pause(ctx context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	p, err := hit[0].running()
	if err != nil {
		return nil, err
	}
	if err := p.stop(ctx); err != nil {
		return nil, errors.Join(err, p.resume())
	}
	return func(context.Context) (string, error) {
		err := p.isStopped()
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrNoEvidence, err)
		}
		return fmt.Sprintf("process %d was stopped at the end", p.pid), errors.Join(err, p.resume())
	}, nil
}

// Of slowPeriod, a slow process runs for slowRun.
const (
	slowPeriod = 50 * time.Millisecond
	slowRun    = 5 * time.Millisecond
)

// slow stops and resumes a process in turn.
func slow(_ context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	p, err := hit[0].running()
	if err != nil {
		return nil, err
	}
	end := make(chan struct{})
	var stops int
	var failed error
	var done sync.WaitGroup
	done.Go(func() { stops, failed = alternate(p, end) })
	return func(context.Context) (string, error) {
		close(end)
		done.Wait()
		if stops == 0 && failed == nil {
			failed = fmt.Errorf("%w: process %d was never seen stopped", ErrNoEvidence, p.pid)
		}
		return fmt.Sprintf("process %d was stopped %d times", p.pid, stops), failed
	}, nil
}

// alternate returns how often the process was stopped. It leaves it running.
func alternate(p *process, end <-chan struct{}) (stops int, err error) {
	stopped := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-end:
			return stops, errors.Join(err, p.resume())
		case <-timer.C:
		}
		if stopped {
			if p.isStopped() == nil {
				stops++
			}
			err = p.resume()
			timer.Reset(slowRun)
		} else {
			err = p.signal(unix.SIGSTOP)
			timer.Reset(slowPeriod - slowRun)
		}
		if err != nil {
			return stops, err
		}
		stopped = !stopped
	}
}

func kill(ctx context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	return down(ctx, hit, unix.SIGKILL)
}

func terminate(ctx context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	return down(ctx, hit, unix.SIGTERM)
}

// down ends the processes by a signal, all at once. Healing starts them.
func down(ctx context.Context, hit []*node, s unix.Signal) (heal, error) {
	hit, err := alive(hit)
	if err != nil {
		return nil, err
	}
	pids := make([]int, len(hit))
	if err := each(hit, func(i int, n *node) (err error) {
		pids[i], err = n.end(ctx, s)
		return err
	}); err != nil {
		return nil, errors.Join(err, each(hit, func(_ int, n *node) error { return n.restart(ctx) }))
	}
	return func(context.Context) (string, error) {
		return goneAll(pids, each(hit, func(_ int, n *node) error { return n.start() }))
	}, nil
}

// alive returns the nodes that run, of which there must be one.
func alive(nodes []*node) ([]*node, error) {
	var runs []*node
	var none error
	for _, n := range nodes {
		if _, err := n.running(); err != nil {
			none = errors.Join(none, err)
			continue
		}
		runs = append(runs, n)
	}
	if len(runs) == 0 {
		return nil, none
	}
	return runs, nil
}

func goneAll(pids []int, err error) (string, error) {
	var words []string
	for _, pid := range pids {
		words = append(words, fmt.Sprint(pid))
		if !gone(pid) {
			err = errors.Join(err, fmt.Errorf("%w: process %d lives", ErrNoEvidence, pid))
		}
	}
	return "gone: process " + strings.Join(words, ", "), err
}

// each calls f for all nodes at once and waits for all.
func each(nodes []*node, f func(i int, n *node) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			if err := f(i, n); err != nil {
				errs[i] = fmt.Errorf("%s: %w", n.name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
