// Package blindtest runs the body of a fuzz target on mutated seeds without the instrumentation of Go's fuzzing engine:
// it finds no new paths by coverage, but runs a body many times faster.
package blindtest

import (
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"
)

// Variable is the environment variable with the number of executions of each target, or with a duration, such as 10s,
// for which each target is executed. Without it, and with -fuzz, a target runs as any other one.
const Variable = "HOLDFAST_BLIND"

// MaxInputBytes bounds each input that the mutator makes.
const MaxInputBytes = 4096

// F is a fuzz target of the testing package that remembers its seeds.
type F struct {
	*testing.F
	seeds [][]reflect.Value
}

// New returns the target.
func New(f *testing.F) *F {
	f.Helper()
	return &F{F: f}
}

// Add adds a seed, as [testing.F.Add] does.
func (f *F) Add(args ...any) {
	f.Helper()
	f.F.Add(args...)
	seed := make([]reflect.Value, len(args))
	for i, a := range args {
		seed[i] = reflect.ValueOf(a)
	}
	f.seeds = append(f.seeds, seed)
}

// Fuzz runs body as [testing.F.Fuzz] does. If [Variable] is set, it then runs body so often or so long with mutated
// seeds, until one fails. The arguments of body are text, bytes, booleans and numbers.
func (f *F) Fuzz(body any) {
	f.Helper()
	runs, length := f.bound()
	if runs == 0 || len(f.seeds) == 0 {
		f.F.Fuzz(body)
		return
	}
	done := false
	f.F.Fuzz(reflect.MakeFunc(reflect.TypeOf(body), func(args []reflect.Value) []reflect.Value {
		if t := args[0].Interface().(*testing.T); !done {
			done = true
			f.blind(t, reflect.ValueOf(body), runs, length)
		}
		return nil
	}).Interface())
}

// bound returns how many executions are asked for, none if it is 0, and how long they may take, for ever if it is 0.
func (f *F) bound() (runs int, length time.Duration) {
	f.Helper()
	value := os.Getenv(Variable)
	if value == "" {
		return 0, 0
	}
	if length, err := time.ParseDuration(value); err == nil && length > 0 {
		return math.MaxInt, length
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		f.Fatalf("%s is %q: a number of executions, at least 1, or a duration", Variable, value)
	}
	return n, 0
}

func (f *F) blind(t *testing.T, body reflect.Value, runs int, length time.Duration) {
	t.Helper()
	seed := rand.Uint64()
	m := newMutator(seed)
	in := make([]reflect.Value, 1+len(f.seeds[0]))
	in[0] = reflect.ValueOf(t)
	n, over := 0, false
	defer func() {
		if t.Failed() || n < runs && !over {
			t.Errorf("execution %d with the seed %d failed with %#v", n, seed, values(in[1:]))
		}
	}()
	for began := time.Now(); n < runs && !over && !t.Failed(); n++ {
		from := f.seeds[m.random.IntN(len(f.seeds))]
		for i, v := range from {
			in[1+i] = m.value(v)
		}
		body.Call(in)
		over = length > 0 && time.Since(began) > length
	}
	t.Logf("%d executions", n)
}

func values(in []reflect.Value) []any {
	all := make([]any, len(in))
	for i, v := range in {
		if v.IsValid() {
			all[i] = v.Interface()
		}
	}
	return all
}

// mutator changes values at random. Its output depends on its seed alone.
type mutator struct {
	random *rand.Rand
	kept   []byte // from an earlier input, to be spliced into others
}

func newMutator(seed uint64) *mutator {
	return &mutator{random: rand.New(rand.NewPCG(seed, 1))}
}

// value returns a changed copy of v.
func (m *mutator) value(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.String:
		return reflect.ValueOf(string(m.bytes([]byte(v.String()))))
	case v.Kind() == reflect.Slice:
		return reflect.ValueOf(m.bytes(append([]byte(nil), v.Bytes()...)))
	case v.Kind() == reflect.Bool:
		return reflect.ValueOf(m.random.IntN(2) == 1)
	case v.CanUint():
		changed := reflect.New(v.Type()).Elem()
		changed.SetUint(m.random.Uint64() >> m.random.IntN(64))
		return changed
	}
	changed := reflect.New(v.Type()).Elem()
	changed.SetInt(int64(m.random.Uint64()) >> m.random.IntN(64))
	return changed
}

// parts are pieces that decoders treat in a way of their own.
var parts = []string{
	".", "..", "*", ">", "$", "_R_.", "=", "=2E", "=C3=A9", "~", "/", " ", "\n", "\r\n", "\x00", "\x1f", "\x7f", "\xff",
	"\xc3\xa9", "e\u0301", "\u202e",
	"0", "1", "-1", "00", "4294967296", "18446744073709551615", "900000000000001", "{", "}", "[", "]", `"`, ":", ",",
	"null", "1e400",
	"\x0a", "\x12", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "shard.", "node.", "acquire.", "batch", "holdfast.",
}

// bytes changes b, which it owns.
func (m *mutator) bytes(b []byte) []byte {
	for range m.random.IntN(5) {
		b = m.change(b)
	}
	b = b[:min(len(b), MaxInputBytes)]
	if m.random.IntN(64) == 0 {
		m.kept = append(m.kept[:0], b...)
	}
	return b
}

func (m *mutator) change(b []byte) []byte {
	at := m.random.IntN(len(b) + 1)
	until := at + m.random.IntN(len(b)-at+1)
	switch kind := m.random.IntN(8); {
	case kind == 0 || len(b) == 0 || at == len(b):
		return insert(b, at, []byte(parts[m.random.IntN(len(parts))]))
	case kind == 1:
		b[at] ^= 1 << m.random.IntN(8)
	case kind == 2:
		b[at] = byte(m.random.Uint32())
	case kind == 3: // leave out
		return append(b[:at], b[until:]...)
	case kind == 4: // repeat
		return insert(b, at, append([]byte(nil), b[at:min(until, at+64)]...))
	case kind == 5: // cut off
		return b[:at]
	case kind == 6: // splice
		return insert(b, at, m.kept[:min(len(m.kept), 64)])
	case kind == 7: // swap
		other := m.random.IntN(len(b))
		b[at], b[other] = b[other], b[at]
	}
	return b
}

func insert(b []byte, at int, part []byte) []byte {
	if len(b)+len(part) > MaxInputBytes {
		return b
	}
	b = append(b, part...)
	copy(b[at+len(part):], b[at:])
	copy(b[at:], part)
	return b
}
