//go:build !race

package conformance_test

// race: the test runs with the race detector.
const race = false
