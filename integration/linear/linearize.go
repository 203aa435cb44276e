package linear

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// Bounds are what the search for an order of operations may cost, for each resource.
type Bounds struct {
	// Time; 0: a minute.
	Time time.Duration
	// Bytes of memory, about; 0: a gigabyte. What a search remembers grows with the square of a history.
	Bytes int64
	// Operations; 0: 50 000.
	Operations int
}

const (
	searchTime       = time.Minute
	searchBytes      = 1 << 30
	searchOperations = 50_000
	// stepBytes is what a search remembers of each step, beside a bit for each operation.
	stepBytes = 200
)

func (b Bounds) withDefaults() Bounds {
	if b.Time == 0 {
		b.Time = searchTime
	}
	if b.Bytes == 0 {
		b.Bytes = searchBytes
	}
	if b.Operations == 0 {
		b.Operations = searchOperations
	}
	return b
}

// search looks for an order in which a lock could have done the operations of one resource.
type search struct {
	model
	Bounds
	// spent estimates the memory that has been used, each what a step takes.
	spent atomic.Int64
	each  int64
	// begun is when it began; late says that a step came after its time.
	begun time.Time
	late  atomic.Bool
}

// linearize returns what is wrong with the steps of one resource, empty if nothing is.
func linearize(m model, b Bounds, steps []Operation) (wrong string) {
	if len(steps) > b.Operations {
		return fmt.Sprintf("not checked: %d operations, more than %d; split the load into shorter histories",
			len(steps), b.Operations)
	}
	s := newSearch(m, b, steps)
	result := porcupine.CheckOperationsTimeout(s.porcupine(), entries(steps), 0) // the steps look at the time
	const many = "there are too many operations at once, or without an outcome"
	switch {
	case result == porcupine.Ok:
		return ""
	case s.full():
		return fmt.Sprintf("not checked: the search gave up after %d MB: %s", b.Bytes>>20, many)
	case s.late.Load():
		return fmt.Sprintf("not checked: the search gave up after %v: %s", b.Time, many)
	default:
		return "no order of its operations explains all answers"
	}
}

// drawTime bounds the search for what is to be drawn: as far as it has come is good enough.
const drawTime = 10 * time.Second

// draw writes a picture of how far an order of the steps can be found.
func draw(m model, b Bounds, steps []Operation, path string) error {
	_, info := porcupine.CheckOperationsVerbose(newSearch(m, b, steps).porcupine(), entries(steps),
		min(b.Time, drawTime))
	// what was found is gone through once more, and that must not be cut off
	b.Bytes, b.Time = math.MaxInt64, math.MaxInt64
	return porcupine.VisualizePath(newSearch(m, b, steps).porcupine(), info, path)
}

func newSearch(m model, b Bounds, steps []Operation) *search {
	return &search{model: m, Bounds: b, each: int64(len(steps)/8 + stepBytes), begun: time.Now()}
}

func entries(steps []Operation) []porcupine.Operation {
	history := make([]porcupine.Operation, 0, len(steps))
	for i := range steps {
		o := &steps[i]
		history = append(history, porcupine.Operation{
			ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return),
		})
	}
	return history
}

// full reports whether the search has to end for lack of memory.
func (s *search) full() bool { return s.spent.Load() > s.Bytes }

// overdue reports whether the search has to end for lack of time.
func (s *search) overdue() bool {
	if time.Since(s.begun) > s.Time {
		s.late.Store(true)
	}
	return s.late.Load()
}

func (s *search) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(at, input, _ any) (bool, any) {
			if s.full() || s.overdue() {
				return false, at
			}
			ok, next := s.step(at.(state), input.(*Operation))
			if ok {
				s.spent.Add(s.each)
			}
			return ok, next
		},
		Equal:             func(a, b any) bool { return a.(state).equal(b.(state)) },
		DescribeOperation: func(input, _ any) string { return input.(*Operation).String() },
		DescribeState:     func(at any) string { return at.(state).String() },
	}
}
