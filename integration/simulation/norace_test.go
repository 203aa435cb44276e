//go:build !race

package simulation

// race: the test runs with the race detector, which lets goroutines come in a random order.
const race = false

// fewTrials is how many there are unless it is said.
const fewTrials = 8
