// Package fencesql guards rows of PostgreSQL, MySQL, MariaDB and SQLite by fencing tokens, through
// database/sql and inside the caller's own transaction.
//
// A [Guard] keeps high-water marks, the highest tokens, in a table of their own. [Guard.Raise] refuses a
// stale claim and raises the mark in the caller's transaction. A [Column] is a token in each of the caller's
// rows, checked by the statement that writes the row; [Column.Raise] writes the token alone. Use a Column
// where the lock protects a single row, a Guard for everything else.
//
// # Guarantee
//
// Mark and writes become durable together or not at all. A check locks the mark until the transaction ends,
// also when it refuses; the next check waits. So a transaction that passed is over before a higher token
// passes, at every isolation level:
//
//   - PostgreSQL: one upsert, which locks the row and decides by its newest version. Under REPEATABLE READ
//     and SERIALIZABLE a mark that changed after the transaction's first read is error 40001.
//   - MySQL, MariaDB: an upsert and a locking read, which see the newest version at each level. A
//     transaction may meet error 1213 or 1205, and after a read 1020 with innodb_snapshot_isolation.
//   - SQLite: one upsert, under the lock on the whole database. A deferred transaction that reads first may
//     meet SQLITE_BUSY; begin it immediate (_txlock=immediate), with a busy_timeout.
//
// # Requirements of the store
//
// A mark is as durable as a commit, and a lost commit lets a stale holder in. Keep these defaults:
// PostgreSQL fsync and synchronous_commit on; MySQL and MariaDB innodb_flush_log_at_trx_commit = 1; SQLite
// synchronous = FULL. Where a replica may take over, a commit must wait for it
// (synchronous_standby_names, semi-synchronous replication). Tables need transactions (not MyISAM).
//
// # Errors
//
// Roll back after each error: that undoes what the transaction wrote before the check. Errors of the database
// come back wrapped and are never [fence.ErrStale]; after those of the list above, run the whole transaction
// again. That includes errors of the commit.
//
// [fence.ErrStale] is certain: drivers and database/sql repeat only the begin of a transaction. An error of
// the commit, such as one of the network, leaves open whether mark and writes are there; either both are or
// neither. [Guard.Do] reports it as [fence.ErrUnknown]. Repeating is safe under [fence.Repeatable] as far as
// the writes may be repeated; under [fence.Once] the repetition is [fence.ErrSpent] if the first try
// committed.
//
// # Not protected
//
// Writes without the guard; statements that commit by themselves, such as DDL of MySQL; databases that
// take writes in several places without common locks (Galera, multi-primary replication). Marks are never
// removed: after the deletion of a mark every token passes.
package fencesql
