// Package fencefile guards the files of a directory that several processes share: each change shows the
// claim of a lease, and a claim whose time has passed is refused.
//
// The mark of a resource, the highest token that was accepted, is a file of its own below .fence in the
// directory, so that the guarded files hold what was written and nothing else. Its name is the SHA-256
// of the resource, which fits file systems that know short names or no letter case, and its content
// the token and the resource, which is compared. Each file has to be written under the same resource
// always: that is the caller's part. One resource may guard many files.
//
// # What is atomic
//
// A change holds the lock file of the directory from the check to its end, so that guards in all
// processes change it one at a time. A process that is stopped in the middle keeps the others waiting
// until it goes on or is killed; it cannot come late. If it dies, the operating system lets go of the
// lock.
//
// First the mark is raised, on disk, then the change is made. A crash in between leaves a mark without
// its change, never the reverse: the claim may be shown again, and all lower ones are refused. Under
// [fence.Once] it is spent, so what it was for happens at most once.
//
// [Dir.Write] replaces a file as a whole: the content goes to a new file, which is synced and renamed
// into place, and the directory is synced. Readers need no lock and see the old content or the new, also
// after a crash. A change by [Dir.Do] is as safe against crashes as the caller makes it.
//
// After [fence.ErrUnknown] the change may have been made, and may be lost by a crash. After any other error
// [Dir.Write] and [Dir.Remove] have changed nothing but the mark; what [Dir.Do] has changed, the caller's
// error tells. The same change may be repeated.
//
// # What it does not protect
//
// Whoever writes past the guard is not refused, and whoever removes .fence removes the marks. The
// guarantees are those of a local file system on Unix: rename is atomic, and what was synced is on disk.
// Network file systems promise less; over NFS, a client that was cut off for long loses its lock
// without being told, and may then come late.
package fencefile
