// Package lease decides what happens to one resource: a pure state machine for its lease, its
// fencing counter and the queue of requests for it.
//
// The package has no clock, no goroutine, no random number and no map order: time is an argument,
// and the same events at the same times give the same outcome. It guarantees that tokens only
// grow, that there is one holder at a time, that a lease never ends before its time and that none
// comes back after it. What it decides is a proposal until the journal has confirmed it; that is
// the caller's part.
package lease
