package suite

import "testing"

func TestWitness(t *testing.T) {
	w := newWitness(2)
	for _, step := range []struct {
		resource int
		token    uint64
		release  bool
		fails    bool
	}{
		{0, 5, true, false},
		{0, 5, true, true}, // again
		{0, 4, true, true}, // lower
		{1, 3, false, false},
		{1, 4, false, true}, // held
		{0, 6, true, false},
		{0, 0, false, false}, // a service without tokens
	} {
		if err := w.granted(step.resource, step.token); (err != nil) != step.fails {
			t.Errorf("%+v: %v", step, err)
		}
		if step.release {
			w.releasing(step.resource)
		}
	}
}
