// Package soak lets thousands of clients use a lock node for any length of time: they wait, crash,
// repeat themselves and come back, while the node compacts, passivates and forgets at a hundredfold of
// its speed and is restarted every few seconds. Everything that they receive is checked against what
// they received before, and against the journals, which are read and audited meanwhile.
//
// [TestNames] has no dice: it lets more names come by than a node may remember, and says what that takes.
//
// All times are of one process with one monotonic clock, so the checks need hardly a margin.
package soak
