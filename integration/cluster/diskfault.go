//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// powerCut takes the power from the nodes at once. Healing boots them.
func powerCut(ctx context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	hit, err := alive(hit)
	if err != nil {
		return nil, err
	}
	pids := make([]int, len(hit))
	// None may go on when the first has no power, so all stop before.
	err = each(hit, func(_ int, n *node) error {
		p, err := n.running()
		if err != nil {
			return err
		}
		return p.stop(ctx)
	})
	if err == nil {
		err = each(hit, func(i int, n *node) (err error) {
			if err := errors.Join(n.disk.witness(), n.disk.cutPower()); err != nil {
				return err
			}
			pids[i], err = n.end(ctx, unix.SIGKILL)
			return err
		})
	}
	boot := func(ctx context.Context) error { return each(hit, func(_ int, n *node) error { return n.boot(ctx) }) }
	if err != nil {
		return nil, errors.Join(err, boot(ctx))
	}
	return func(ctx context.Context) (string, error) {
		evidence, err := goneAll(pids, boot(ctx))
		return evidence + "; what was not synced is lost, what was is there", err
	}, nil
}

// boot returns an error if the node had not lost its power. It starts it anyway.
func (n *node) boot(ctx context.Context) error {
	if err := n.disk.restorePower(ctx); err != nil {
		return err
	}
	return errors.Join(n.disk.examine(), n.restart(ctx))
}

// refill is how often a full disk is filled up again, because NATS gives space back.
const refill = 100 * time.Millisecond

func diskFull(_ context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	n := hit[0]
	if err := n.disk.fill(); err != nil {
		return nil, errors.Join(err, n.disk.empty())
	}
	if !n.disk.isFull() {
		return nil, errors.Join(fmt.Errorf("%w: one can still write to %s", ErrNoEvidence, n.disk.dir), n.disk.empty())
	}
	end := make(chan struct{})
	times := 1
	var failed error
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(refill)
		defer tick.Stop()
		for failed == nil {
			select {
			case <-end:
				return
			case <-tick.C:
				failed = n.disk.fill()
				times++
			}
		}
	})
	return func(context.Context) (string, error) {
		close(end)
		done.Wait()
		return fmt.Sprintf("the disk was filled %d times, and no more could be written", times),
			errors.Join(failed, n.disk.empty())
	}, nil
}

func diskDead(_ context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	n := hit[0]
	if _, err := n.running(); err != nil {
		return nil, err
	}
	if err := n.disk.cutPower(); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		wrote := writeFile(filepath.Join(n.disk.dir, "probe"), true)
		var err error
		if !errors.Is(wrote, unix.EIO) {
			err = fmt.Errorf("%w: a write to the dead disk ended with %w", ErrNoEvidence, wrote)
		}
		if _, alive := n.running(); alive == nil {
			_, ended := n.end(ctx, unix.SIGKILL)
			err = errors.Join(err, ended)
		}
		return fmt.Sprintf("writing: %v", wrote), errors.Join(err, n.disk.restorePower(ctx), n.restart(ctx))
	}, nil
}

func fsyncFail(ctx context.Context, _ *Cluster, _ Fault, hit []*node) (heal, error) {
	n := hit[0]
	t, err := n.trace(ctx, "error=EIO", "(INJECTED)")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		seen, err := t.detach(ctx)
		return fmt.Sprintf("%d fsyncs failed", seen), err
	}, nil
}

func fsyncSlow(ctx context.Context, _ *Cluster, f Fault, hit []*node) (heal, error) {
	if f.Delay <= 0 {
		return nil, errors.New("it needs a delay")
	}
	t, err := hit[0].trace(ctx, fmt.Sprintf("delay_enter=%dus", f.Delay.Microseconds()), "(DELAYED)")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		seen, err := t.detach(ctx)
		return fmt.Sprintf("%d fsyncs delayed", seen), err
	}, nil
}
