package lease_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/actors/exhaustive"
)

// TestSearch looks at every situation that a few owners can bring about in a few steps.
func TestSearch(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			w.prepare()
			exhaustive.Sound(t, w.begin, 3)
			exhaustive.Run(t, w.begin, w.depth, w.rare...)
		})
	}
}
