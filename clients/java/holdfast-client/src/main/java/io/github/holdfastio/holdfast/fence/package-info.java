/**
 * Guards for stores: a write shows the claim of its lease, and the store refuses the claim of a lease that has ended.
 *
 * <p>A lease can end without notice to its holder: the process was paused, swapped out or cut off. Its next write then
 * follows the writes of the next holder. A lock service cannot prevent that; the store can, by the fencing token that
 * every grant carries.
 *
 * <p>A guard keeps the highest token that it has accepted for each resource, the mark. It refuses a lower token,
 * accepts an equal one, and raises the mark to a higher one, in the same atomic step as the write. The guards are
 * {@link io.github.holdfastio.holdfast.fence.jdbc.Guard} for PostgreSQL, MySQL and MariaDB, and
 * {@link io.github.holdfastio.holdfast.fence.file.Directory} for files. They share their marks with the guards of
 * other languages.
 */
package io.github.holdfastio.holdfast.fence;
