// Package bench holds the benchmarks of the whole service. They compare in turns, within one run,
// because the machines that they run on are shared and their speed drifts.
package bench

import "slices"

// series is what was measured, in the order of the rounds.
type series []float64

func (s *series) add(v float64) { *s = append(*s, v) }

func (s series) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

// below returns what this part of the values is not above.
func (s series) below(part float64) float64 {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(float64(len(sorted))*part), len(sorted)-1)]
}

func (s series) most() float64 { return slices.Max(s) }

func (s series) least() float64 { return slices.Min(s) }

func (s series) mean() float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum / float64(len(s))
}

// over returns the median of the ratios, round by round.
func (s series) over(t series) float64 { return s.ratios(t).median() }

// ratios returns the ratio of each round.
func (s series) ratios(t series) (ratios series) {
	for i := range s {
		ratios.add(s[i] / t[i])
	}
	return ratios
}
