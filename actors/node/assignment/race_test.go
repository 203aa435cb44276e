//go:build race

package assignment

import "runtime"

// The race detector has one context for all timers of a synctest bubble, and crashes if two threads use it
// at once (golang/go#78156): two goroutines that poll expired timers at the same moment. On one processor
// they cannot, and races are found all the same, since they are found by the order of synchronization.
func init() { runtime.GOMAXPROCS(1) }
