package lease_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/actors/exhaustive"
)

// TestSearch looks at every situation that a few owners can bring about in a few steps. make search goes deeper.
func TestSearch(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			w.prepare()
			s := exhaustive.Search{Begin: w.begin, Depth: w.depth}
			found, err := s.Run()
			t.Log(found)
			if err != nil {
				t.Fatal(err)
			}
			for _, rare := range w.rare {
				if found.Reached[rare] == 0 {
					t.Errorf("no %s", rare)
				}
			}
		})
	}
}
