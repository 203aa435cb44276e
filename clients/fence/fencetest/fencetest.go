// Package fencetest is the suite that every guard of Holdfast passes, and that a new guard has to pass. It
// sees a guard as a register: a value for each resource, written under its guard and read back.
package fencetest

import (
	"context"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Register is a guarded store as the suite uses it. It is called concurrently.
type Register interface {
	// Write replaces the value of the claim's resource, through the guard.
	Write(ctx context.Context, c fence.Claim, value string) error
	// Read returns the last value written, empty if there is none. A read that begins after a write has
	// ended must see it.
	Read(ctx context.Context, resource string) (string, error)
}

// Modifier is a [Register] whose guard has a way of its own to read, change and write a value.
type Modifier interface {
	// Modify replaces the value of the claim's resource by what f makes of it, through the guard. It may call f again
	// after a conflict, and returns an error of f.
	Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error
}

// Subject is a guard to be tested. Its registers are of the type [Modifier], or Marks raises the marks that Write
// checks.
type Subject struct {
	// Open returns a register under the rule over the store, which keeps what earlier ones left there.
	// The suite opens several, and never uses a resource twice.
	Open func(tb testing.TB, rule fence.Rule) Register
	// Observed returns a register under the rule Repeatable over the store, whose guard has the observer; nil if it
	// can have none.
	Observed func(tb testing.TB, o fence.Observer) Register
	// Restart ends the store and starts it again on the same data; registers that are open then are not
	// used again. A store without a server is opened afresh.
	Restart func(tb testing.TB)
	// Marks returns the marks that Write checks, under the rule; nil if none can be raised without a write.
	Marks func(tb testing.TB, rule fence.Rule) fence.Marks
	// Apart is true if Write checks other marks than those of Marks.
	Apart bool
	// Exclusive is true if Modify holds all others out until it ends.
	Exclusive bool
	// Through returns a register under the rule over the same store, by a client of its own with the
	// defaults of its driver, that reaches each server at the address that via returns for the server's
	// own. Nil if no network is between the guard and the store.
	Through func(tb testing.TB, rule fence.Rule, via func(addr string) string) Register
	// History returns the values that a resource has had, oldest first, if the store keeps them.
	History func(tb testing.TB, resource string) []string
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"FirstToken":     firstToken,
		"Textbook":       textbook,
		"EqualToken":     equalToken,
		"Once":           once,
		"Invalid":        invalid,
		"TwoResources":   twoResources,
		"OddNames":       oddNames,
		"Concurrent":     concurrent,
		"ConcurrentOnce": concurrentOnce,
		"Cancelled":      cancelled,
		"Modify":         modifies,
		"Paused":         paused,
		"Phase":          phase,
		"Slots":          slots,
		"LongNames":      longNames,
		"Marks":          marks,
		"Raise":          raise,
		"Observer":       observer,
		"Restart":        restart,
		"Network":        network,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}
