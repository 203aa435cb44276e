package register

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"
)

// oversee lets a worker work in a process of its own until ctx ends, and stops it now and then.
func (r *run) oversee(ctx context.Context, w Worker) (counts Counts, err error) {
	cmd, err := r.cfg.Spawn(w)
	if err != nil {
		return counts, err
	}
	var said bytes.Buffer
	cmd.Stdout = &said
	life, err := cmd.StdinPipe()
	if err != nil {
		return counts, err
	}
	if err := cmd.Start(); err != nil {
		return counts, fmt.Errorf("%s cannot start: %w", w.Name, err)
	}
	pauses := r.harass(ctx, cmd.Process, rand.New(rand.NewPCG(w.Seed, 1)))
	_ = life.Close()
	late := time.AfterFunc(settleTimeout, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		return counts, fmt.Errorf("process of %s: %w", w.Name, err)
	}
	if err := json.Unmarshal(said.Bytes(), &counts); err != nil {
		return counts, fmt.Errorf("process of %s said %q: %w", w.Name, said.Bytes(), err)
	}
	counts.Pauses += pauses
	return counts, nil
}

// harass stops the process for up to three TTLs at a time, until ctx ends, and leaves it running.
func (r *run) harass(ctx context.Context, p *os.Process, dice *rand.Rand) (pauses int64) {
	for {
		pause(ctx, time.Duration(dice.Int64N(int64(3*r.cfg.TTL))))
		if ctx.Err() != nil || p.Signal(syscall.SIGSTOP) != nil { // it has ended; Wait says how
			return pauses
		}
		pause(ctx, time.Duration(dice.Int64N(int64(3*r.cfg.TTL))))
		_ = p.Signal(syscall.SIGCONT)
		pauses++
	}
}
