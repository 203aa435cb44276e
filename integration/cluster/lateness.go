//go:build linux

package cluster

import (
	"bytes"
	"container/heap"
	"io"
	"sync"
	"time"
)

// maxLate bounds the frames that are on their way to one port; more are lost, as in a switch.
const maxLate = 10_000

// lateness delivers frames later than they came. Those of different delays overtake one another.
type lateness struct {
	to    io.Writer
	mu    sync.Mutex
	heap  frames
	wake  chan struct{}
	end   chan struct{}
	ended sync.WaitGroup
}

func newLateness(to io.Writer) *lateness {
	l := &lateness{to: to, wake: make(chan struct{}, 1), end: make(chan struct{})}
	l.ended.Go(l.run)
	return l
}

// put keeps a copy of the frame.
func (l *lateness) put(delay time.Duration, frame []byte) {
	l.mu.Lock()
	if len(l.heap) < maxLate {
		heap.Push(&l.heap, lateFrame{time.Now().Add(delay), bytes.Clone(frame)})
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // it is about to look anyway
	}
}

func (l *lateness) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.end:
			return
		case <-l.wake:
		case <-timer.C:
		}
		for {
			frame, wait, ok := l.next(time.Now())
			if !ok {
				break
			}
			if wait > 0 {
				timer.Reset(wait)
				break
			}
			_, _ = l.to.Write(frame)
		}
	}
}

// next returns a frame that is due, or how long it is until one is; false if there is none.
func (l *lateness) next(now time.Time) (frame []byte, wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heap) == 0 {
		return nil, 0, false
	}
	if wait := l.heap[0].due.Sub(now); wait > 0 {
		return nil, wait, true
	}
	return heap.Pop(&l.heap).(lateFrame).frame, 0, true
}

func (l *lateness) close() {
	close(l.end)
	l.ended.Wait()
}

type lateFrame struct {
	due   time.Time
	frame []byte
}

// frames implements [heap.Interface], the first to be delivered in front.
type frames []lateFrame

func (f frames) Len() int           { return len(f) }
func (f frames) Less(i, j int) bool { return f[i].due.Before(f[j].due) }
func (f frames) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }

// Push implements [heap.Interface].
func (f *frames) Push(x any) { *f = append(*f, x.(lateFrame)) }

// Pop implements [heap.Interface].
func (f *frames) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	(*f)[last] = lateFrame{}
	*f = (*f)[:last]
	return x
}
