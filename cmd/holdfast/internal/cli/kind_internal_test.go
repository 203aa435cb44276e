package cli

import "testing"

func TestSlots(t *testing.T) {
	for want, numbers := range map[string][]uint32{
		"":          nil,
		"0":         {0},
		"0-1":       {0, 1},
		"0,2":       {0, 2},
		"0,2-4,6-7": {0, 2, 3, 4, 6, 7},
	} {
		if got := Slots(numbers); got != want {
			t.Errorf("Slots(%v) = %q, wanted %q", numbers, got, want)
		}
	}
}
