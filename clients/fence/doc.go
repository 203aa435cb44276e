// Package fence is the resource's side of a lock: it refuses a holder whose time has passed.
//
// A lease ends although its holder may not know it yet: it was paused, swapped out, cut off. What
// it then writes, thinking the lock its own, comes after the writes of the next holder. No lock service
// can prevent that; only what is written to can, by the fencing token that every grant carries. The
// rule is the same for every store: with the data stands a mark, the highest token that was accepted; a
// lower one is refused with [ErrStale], an equal one passes, because a holder writes more than once, and
// a higher one raises the mark. Check, raising and write are one atomic step, or the rule is worth
// nothing: between a check and a later write there is room for a pause.
//
// This package holds the rule, and the interface [Marks] of what remembers marks. It also has [Problem],
// by which guards of HTTP and NATS say what was wrong, and [NewContext], by which they hand the claim on.
// The guards stand in the packages below it, one for each kind of store; those that need a driver, be it
// only for their tests, are modules of their own, so that nobody gets a driver who does not use it.
// Package fencetest is the suite that all of them pass, for those who write another.
//
// Leases are of Gray and Cheriton (Leases, 1989). The token is the sequencer of Burrows (The Chubby lock
// service, 2006, section 2.4).
package fence
