// Package lock implements the lock command, which runs another command under locks. It starts the process,
// supervises it and all its descendants, and ends them when a lock is lost.
package lock
