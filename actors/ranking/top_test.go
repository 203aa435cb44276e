package ranking_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors/ranking"
)

// Top has what a sort of everything has first, and excludes none of it.
func TestTop(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 5, 100, 1000} {
		for _, limit := range []int{0, 1, 2, 10, 99, 100, 2000} {
			top, all := ranking.NewTop[int](limit), []ranking.Place{}
			for i := range n {
				at := ranking.Place{
					First: random.Int64N(50), Second: random.Int64N(5), Name: string(rune('a' + random.IntN(20))),
					Token: uint64(i),
				}
				if all = append(all, at); !top.Excludes(at.First) {
					top.Add(at, i)
				}
			}
			slices.SortFunc(all, ranking.Place.Compare)
			var got []ranking.Place
			top.Each(func(at ranking.Place, value int) bool {
				if got = append(got, at); value != int(at.Token) {
					t.Errorf("the value of %v is %d", at, value)
				}
				return true
			})
			if want := all[:min(n, limit)]; !slices.Equal(got, want) {
				t.Errorf("of %d the first %d are %v, want %v", n, limit, got, want)
			}
		}
	}
}
