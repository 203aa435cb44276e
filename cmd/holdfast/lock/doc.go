// Package lock is the command that runs another command under locks: it starts the process, supervises it and
// all its descendants, and ends them when a lock is lost.
package lock
