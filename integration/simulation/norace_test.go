//go:build !race

package simulation

// race: the test runs with the race detector, which lets goroutines come in a random order.
const race = false
