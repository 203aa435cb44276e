// Package register proves the lock end to end: a counter behind a guard of clients/fence, and workers
// that lock, read, are paused at random for longer than their lease, and write one more than they read.
//
// No accepted access may show a lower token than one before it, each token belongs to whom the service
// granted it, each accepted value is one above the last, and every increment that was acknowledged is
// in the value at the end. Without the guard the same workers lose updates: a run can show it.
package register
