// Package fencefile guards the files of a directory that several processes share: each change shows the
// claim of a lease, and the claim of an ended lease is refused.
//
// The high-water mark of a resource, the highest token that was accepted, is a file below .fence in the
// directory; the guarded files hold only the caller's content. The name of a mark is the SHA-256 of
// the resource, which fits file systems with short names or without letter case. Its content is the token and the
// resource. One resource may guard many files; the caller uses the same resource for a file each time.
//
// # Guarantee
//
// A change holds the lock file of the directory from the check to its end, so that the guards of all
// processes change the directory one at a time. A paused process blocks the others until it continues or
// dies; it cannot write late. The operating system releases the lock of a dead process.
//
// The mark is raised, on disk, before the change is made. A crash in between leaves a mark without its
// change, never the reverse: the same claim may be shown again, and lower ones are refused. Under
// [fence.Once] the token is spent: its change happens at most once.
//
// [Dir.Write] replaces a whole file: it writes and syncs a new file, renames it into place and syncs the
// directory. Readers need no lock and see the old content or the new, also after a crash. A change by
// [Dir.Do] is as durable as the caller makes it.
//
// # Requirements of the store
//
// The directory is on a local file system of Unix, where a rename is atomic and synced data stays. Network
// file systems promise less: a client of NFS that was cut off for long loses its lock without notice, and
// may then write late.
//
// # Errors
//
// After [fence.ErrStale] nothing was written. After [fence.ErrUnknown] the change may have been made,
// and a crash may undo it. After any other error [Dir.Write] and [Dir.Remove] have changed at most the mark;
// for [Dir.Do] the caller's own error says more. The same change may be repeated.
//
// # Not protected
//
// A process that writes without the guard is not refused. Removing .fence removes the marks.
package fencefile
