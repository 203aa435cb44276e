package load

import (
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Meter counts and times the calls of all workers. It is safe for concurrent use. Calls that return before or after
// the measured time do not count.
type Meter struct {
	mu sync.Mutex
	// begun and ended are the measured time; zero before.
	begun, ended time.Time
	latencies    map[messages.Operation]*Latencies
	failures     map[Failure]uint64
}

// Failure is a kind of failed call.
type Failure struct {
	Op messages.Operation
	// Code is what [CodeOf] says of the error.
	Code string
}

func newMeter() *Meter {
	return &Meter{latencies: make(map[messages.Operation]*Latencies), failures: make(map[Failure]uint64)}
}

// Time makes a call, counts it and returns its error. The latency of a failed call does not count.
func (m *Meter) Time(op messages.Operation, call func() error) error {
	begun := time.Now()
	err := call()
	m.count(op, time.Since(begun), err)
	return err
}

func (m *Meter) count(op messages.Operation, took time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.begun.IsZero() || !m.ended.IsZero():
	case err != nil:
		m.failures[Failure{op, CodeOf(err)}]++
	default:
		if m.latencies[op] == nil {
			m.latencies[op] = newLatencies()
		}
		m.latencies[op].add(took)
	}
}

// Count returns how many calls of an operation have succeeded so far.
func (m *Meter) Count(op messages.Operation) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latencies[op].Count()
}

// Failures returns how many calls have failed so far.
func (m *Meter) Failures() (n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, count := range m.failures {
		n += count
	}
	return n
}

// Elapsed returns how much of the measured time has passed.
func (m *Meter) Elapsed() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.begun.IsZero():
		return 0
	case m.ended.IsZero():
		return time.Since(m.begun)
	}
	return m.ended.Sub(m.begun)
}

func (m *Meter) isOver() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.ended.IsZero()
}

func (m *Meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = time.Now()
}

// finish may be called twice.
func (m *Meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended.IsZero() {
		m.ended = time.Now()
	}
}

// result returns what was measured. No call may be in progress.
func (m *Meter) result() *Result {
	return &Result{Elapsed: m.Elapsed(), Latencies: m.latencies, Failures: m.failures}
}
