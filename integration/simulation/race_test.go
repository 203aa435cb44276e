//go:build race

package simulation

// race: the test runs with the race detector, which lets goroutines come in a random order.
const race = true

// fewTrials is how many there are unless it is said: the race detector makes one fifteen times as long.
const fewTrials = 3
