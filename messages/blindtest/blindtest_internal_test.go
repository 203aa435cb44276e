package blindtest

import (
	"reflect"
	"slices"
	"testing"
)

// The same seed gives the same inputs, each within the bound, and seeds are not changed.
func TestMutator(t *testing.T) {
	seed := []byte("holdfast.acquire.orders.42")
	original, one, other := slices.Clone(seed), newMutator(7), newMutator(7)
	different := map[string]bool{}
	for range 10_000 {
		a, b := one.value(reflect.ValueOf(seed)).Bytes(), other.value(reflect.ValueOf(seed)).Bytes()
		if !slices.Equal(a, b) {
			t.Fatalf("%q and %q of one seed", a, b)
		}
		if len(a) > MaxInputBytes {
			t.Fatalf("%d bytes", len(a))
		}
		different[string(a)] = true
	}
	if !slices.Equal(seed, original) {
		t.Errorf("the seed became %q", seed)
	}
	if len(different) < 5000 {
		t.Errorf("only %d different inputs", len(different))
	}
}

// An input that is as long as the bound stays within it.
func TestMutatorOfLongInputs(t *testing.T) {
	m := newMutator(1)
	for range 1000 {
		if n := len(m.bytes(make([]byte, MaxInputBytes))); n > MaxInputBytes {
			t.Fatalf("%d bytes", n)
		}
	}
}
