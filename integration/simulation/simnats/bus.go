// Package simnats is a NATS for simulations: servers in memory that real clients connect to within their process, and
// whose every delivery has its time and its order from one seed. It runs in a bubble of testing/synctest.
package simnats

import (
	"container/heap"
	"encoding/binary"
	"sync"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Bus is what everything takes that is on its way between two processes. One thing is delivered at a time, and the next
// one when all that it has led to has come to rest: so the order of goroutines hardly matters. It is safe for
// concurrent use.
type Bus struct {
	// Trace is called with each delivery; nil: nothing is.
	Trace func(at time.Time, what string)

	seed  uint64
	drawn map[string]uint64

	mu     sync.Mutex
	queue  deliveries
	count  uint64
	intake []func()
	wake   chan struct{}
	done   chan struct{}
	ended  chan struct{}
}

// delivery is something that is on its way.
type delivery struct {
	at     time.Time
	number uint64
	do     func()
}

// NewBus starts a bus. [Bus.Close] ends it.
func NewBus(seed uint64) *Bus {
	b := &Bus{
		seed: seed, drawn: make(map[string]uint64),
		wake: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{}),
	}
	go b.run()
	return b
}

// Draw draws a number below a bound, on the goroutine of the bus. What it is for and how often that was drawn for
// decide, and nothing else: so that the order of two things at the same instant changes nothing.
func (b *Bus) Draw(what string, below int) int {
	n := b.drawn[what]
	b.drawn[what]++
	var buffer [128]byte
	key := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(buffer[:0], b.seed), n)
	return int(xxhash.Sum64(append(key, what...)) % uint64(below))
}

// Close ends the bus. What is on its way is lost.
func (b *Bus) Close() {
	close(b.done)
	<-b.ended
}

// At delivers at a time, on the goroutine of the bus. What is delivered at the same time comes in the order of the
// calls.
func (b *Bus) At(at time.Time, do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	heap.Push(&b.queue, delivery{at, b.count, do})
	b.stir()
}

// After is [Bus.At] so much later than now.
func (b *Bus) After(d time.Duration, do func()) { b.At(time.Now().Add(d), do) }

// Arrived lets the bus look at what processes have sent, when all of them have come to rest.
func (b *Bus) Arrived() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stir()
}

// OnRest adds a function that the bus calls whenever all processes have come to rest.
func (b *Bus) OnRest(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.intake = append(b.intake, do)
}

// Do calls a function on the goroutine of the bus, and returns when all that it leads to has come to rest.
func (b *Bus) Do(do func()) {
	done := make(chan struct{})
	b.After(0, func() {
		do()
		b.After(0, func() { close(done) })
	})
	select {
	case <-done:
	case <-b.ended:
	}
}

func (b *Bus) stir() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *Bus) run() {
	defer close(b.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		synctest.Wait()
		b.mu.Lock()
		intake := b.intake
		b.mu.Unlock()
		for _, do := range intake {
			do()
		}
		next, is := b.next()
		if is {
			next()
			continue
		}
		timer.Reset(b.pause())
		select {
		case <-b.done:
			return
		case <-b.wake:
		case <-timer.C:
		}
	}
}

// next removes what is due, and returns it.
func (b *Bus) next() (do func(), is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.done:
		return nil, false
	default:
	}
	if len(b.queue) == 0 || b.queue[0].at.After(time.Now()) {
		return nil, false
	}
	return heap.Pop(&b.queue).(delivery).do, true
}

// pause returns how long it is until something is due.
func (b *Bus) pause() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return 24 * time.Hour
	}
	return max(time.Until(b.queue[0].at), 0)
}

// deliveries implements heap.Interface: what is due first comes first.
type deliveries []delivery

func (d deliveries) Len() int      { return len(d) }
func (d deliveries) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d deliveries) Less(i, j int) bool {
	if !d[i].at.Equal(d[j].at) {
		return d[i].at.Before(d[j].at)
	}
	return d[i].number < d[j].number
}

// Push implements heap.Interface.
func (d *deliveries) Push(x any) { *d = append(*d, x.(delivery)) }

// Pop implements heap.Interface.
func (d *deliveries) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	(*d)[last] = delivery{}
	*d = (*d)[:last]
	return x
}
