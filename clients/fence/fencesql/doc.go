// Package fencesql guards rows of PostgreSQL, MySQL, MariaDB and SQLite by fencing tokens, through
// database/sql and inside the caller's own transaction.
//
// # Two forms
//
// A [Guard] keeps marks, the highest tokens, in a table of their own. [Guard.Raise] refuses a stale claim
// and raises the mark in the caller's transaction: mark and writes become durable together or not at
// all, and whatever crashes before the commit has done neither. A [Column] is a token in each of the
// caller's rows, checked by the very statement that writes the row. Use a Column where the lock protects
// a single row, a Guard for everything else. Both want a transaction, and that it is rolled back after
// an error: what it wrote before the check is undone only so.
//
// # Concurrency
//
// A check locks the mark until the transaction ends, also when the token does not change and when it is
// refused; the next one waits for it. So a transaction that passed is over before a higher token passes,
// at every isolation level:
//
//   - PostgreSQL: one upsert, which locks the row and decides by its newest version. Under REPEATABLE
//     READ and SERIALIZABLE a mark that changed after the transaction's first read is error 40001.
//   - MySQL, MariaDB: an upsert and a locking read, which see the newest version at each level. A
//     transaction may meet error 1213 or 1205, and after a read 1020 with innodb_snapshot_isolation.
//   - SQLite: one upsert, under the lock on the whole database. Whoever reads first in a deferred
//     transaction may meet SQLITE_BUSY; begin it immediate (_txlock=immediate), with a busy_timeout.
//
// Such errors come back wrapped, are never [fence.ErrStale], and mean: roll back, and run the whole
// transaction again. That includes errors of the commit.
//
// # Durability
//
// A mark is as durable as a commit. A commit that is lost takes the mark along and lets a stale holder
// in, so leave these settings as they are by default: PostgreSQL fsync and synchronous_commit on;
// MySQL and MariaDB innodb_flush_log_at_trx_commit = 1; SQLite synchronous = FULL. Where a replica may
// take over, a commit must wait for it (synchronous_standby_names, semi-synchronous replication).
//
// # Unknown outcomes
//
// An error of the commit, above all one of the network, leaves open whether mark and writes are there;
// either both are or neither. [Guard.Do] reports it as [fence.ErrUnknown]. Drivers and database/sql repeat
// by themselves only what begins a transaction, so [fence.ErrStale] is certain. To repeat is safe as far as the guard goes: under [fence.Repeatable] the
// same token passes again, so the writes should bear being repeated; under [fence.Once] it is refused as
// [fence.ErrSpent] if the first try did commit.
//
// # Not protected
//
// Writes that do not ask the guard; tables without transactions (MyISAM); statements that commit on
// their own, such as DDL of MySQL; databases that take writes in several places without common locks
// (Galera, multi-primary replication). Marks are never removed: a mark that is deleted lets the next
// token in, whichever it is.
package fencesql
