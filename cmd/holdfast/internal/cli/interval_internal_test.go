package cli

import (
	"slices"
	"testing"
	"time"
)

func TestIntervalTakesItsArgument(t *testing.T) {
	for _, test := range []struct {
		set  string
		args []string
		dash int
		want time.Duration
		left []string
	}{
		{"", []string{"5s"}, -1, 2 * time.Second, []string{"5s"}},
		{"2s", nil, -1, 2 * time.Second, nil},
		{"2s", []string{"orders.*"}, -1, 2 * time.Second, []string{"orders.*"}},
		{"2s", []string{"5s"}, -1, 5 * time.Second, nil},
		{"2s", []string{"5s", "orders.*"}, -1, 5 * time.Second, []string{"orders.*"}},
		{"2s", []string{"orders.*", "5s"}, -1, 5 * time.Second, []string{"orders.*"}},
		{"2s", []string{"5s"}, 0, 2 * time.Second, []string{"5s"}},
		{"3s", []string{"5s"}, -1, 3 * time.Second, []string{"5s"}},
	} {
		i := NewInterval()
		if test.set != "" {
			if err := i.Set(test.set); err != nil {
				t.Fatal(err)
			}
		}
		left, err := i.Take(test.args, test.dash)
		if err != nil || i.Every.Duration != test.want || !slices.Equal(left, test.left) {
			t.Errorf("%+v: %v, %q, %v", test, i.Every.Duration, left, err)
		}
	}
}
