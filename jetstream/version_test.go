package jetstream_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
)

func TestIsTooOld(t *testing.T) {
	for version, want := range map[string]bool{
		"2.15.0": false, "2.15.2-RC.1": false, "2.16.0": false, "3.0.0": false, "2.14.9": true, "2.9.0": true,
		"1.99.0": true, "": false,
	} {
		if got := jetstream.IsTooOld(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}
