/**
 * A guard for the rows of PostgreSQL, MySQL and MariaDB, inside the transaction that writes them.
 *
 * <p>Mark and writes become durable together or not at all. A check locks the mark until the transaction ends, also
 * when it refuses, and the next check of the resource waits. So a transaction that passed is over before a higher token
 * passes, at every isolation level. The marks are rows of a table, the same as those of the guards in Go, Python and
 * TypeScript.
 *
 * <p>A mark is as durable as a commit, and a lost commit lets a stale holder in. Keep these defaults of the store:
 * {@code fsync} and {@code synchronous_commit} on in PostgreSQL; {@code innodb_flush_log_at_trx_commit = 1} in MySQL
 * and MariaDB. Where a replica may take over, a commit must wait for it. Marks are never removed: after the deletion of
 * a mark every token passes. Writes without the guard are not refused, nor are those of databases that take writes in
 * several places without common locks.
 */
package io.github.holdfastio.holdfast.fence.jdbc;
