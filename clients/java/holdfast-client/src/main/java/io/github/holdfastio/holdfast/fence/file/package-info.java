/**
 * A guard for the files of a directory that several processes change.
 *
 * <p>The mark of a resource is a file below {@code .fence} in the directory. A change holds a lock file of the
 * directory from the check to its end, so that the guards of all processes, also those in Go, Python and TypeScript,
 * change the directory one at a time. A paused process blocks the others until it goes on or dies; it cannot write
 * late. The mark is on disk before the change is made.
 *
 * <p>Java has no {@code flock}, by which the guards of all languages lock, so each change runs the commands {@code sh},
 * {@code cat} and {@code flock} of util-linux or BusyBox: a process that holds the lock until the change is over, or
 * the Java process has ended. It ignores the signals that a terminal or a service manager sends to all processes of a
 * group. If it alone is killed, the lock is free while the change goes on: the guard asks for the lock right before it
 * replaces or removes a file, and fails without it, but does not notice a kill after that, nor while the application's
 * {@link io.github.holdfastio.holdfast.fence.file.Change} runs. Another process may change the directory meanwhile.
 *
 * <p>The directory is on a local file system of Unix. A network file system promises less: a client that was cut off
 * for long loses its lock without notice. A process that writes without the guard is not refused.
 */
package io.github.holdfastio.holdfast.fence.file;
