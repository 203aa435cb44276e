package takeover_test

import (
	"context"
	"sync/atomic"
	"syscall"
	"time"
)

// trouble is what happens to the servers meanwhile.
type trouble struct {
	*storm
	dice
	stepDowns, freezes, stops, kills atomic.Int64
}

const (
	// stepDownsEach is how many leaders step down before a server is restarted.
	stepDownsEach = 4
	// freezeMost is how long a server stands still: long enough for an append to be sent again, so that
	// two copies of it arrive at once.
	freezeLeast, freezeMost = 200 * time.Millisecond, 900 * time.Millisecond
)

// make makes trouble until ctx ends, and leaves all servers running. One is down at a time, and the
// buckets are whole again before the next: without a quorum nothing could happen.
func (t *trouble) make(ctx context.Context) {
	for n := t.IntN(2); ctx.Err() == nil; n++ {
		for range stepDownsEach {
			pause(ctx, t.between(100*time.Millisecond, 700*time.Millisecond))
			if t.cluster.stepDown(ctx, streamOf(t.prefix, t.Uint32N(shards))) {
				t.stepDowns.Add(1)
			}
			if t.chance(50) {
				t.freeze(ctx, t.cluster.servers[t.IntN(len(t.cluster.servers))])
			}
		}
		t.cluster.waitWhole(ctx, t.prefix)
		if ctx.Err() == nil {
			t.restart(ctx, t.cluster.servers[t.IntN(len(t.cluster.servers))], n%2 == 0)
		}
	}
}

func (t *trouble) freeze(ctx context.Context, s *server) {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		t.wrong("%v", err)
		return
	}
	t.freezes.Add(1)
	pause(ctx, t.between(freezeLeast, freezeMost))
	if err := s.signal(syscall.SIGCONT); err != nil {
		t.wrong("%v", err)
	}
}

func (t *trouble) restart(ctx context.Context, s *server, kill bool) {
	if kill {
		s.kill()
		t.kills.Add(1)
	} else {
		s.stop()
		t.stops.Add(1)
	}
	pause(ctx, t.between(10*time.Millisecond, time.Second))
	if err := s.start(); err != nil {
		t.wrong("%v", err)
		return
	}
	t.cluster.waitWhole(ctx, t.prefix)
}
