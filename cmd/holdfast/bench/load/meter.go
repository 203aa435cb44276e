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

// finish may be called twice. Without a begin nothing was measured.
func (m *Meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended.IsZero() {
		m.ended = time.Now()
	}
	if m.begun.IsZero() {
		m.begun = m.ended
	}
}

// result returns what was measured. No call may be in progress.
func (m *Meter) result() *Result {
	return &Result{Elapsed: m.ended.Sub(m.begun), Latencies: m.latencies, Failures: m.failures}
}
