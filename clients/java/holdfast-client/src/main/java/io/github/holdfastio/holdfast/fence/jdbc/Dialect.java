package io.github.holdfastio.holdfast.fence.jdbc;

import io.github.holdfastio.holdfast.fence.Fence;

/** The SQL of a database, whatever the driver. */
public enum Dialect {
    /** The SQL of PostgreSQL. */
    POSTGRESQL("42P01"),
    /** The SQL of MySQL and MariaDB. */
    MYSQL("42S02");

    /** The SQLSTATE of a statement about a table that is missing. */
    final String noTable;

    Dialect(String noTable) {
        this.noTable = noTable;
    }

    /**
     * Returns the statement that makes the table of marks unless it is there. Resources are bytes, because text would
     * compare as the collation likes: without case, accents or spaces at the end.
     */
    String create(String table) {
        String token = "NOT NULL CHECK (token BETWEEN 0 AND " + Fence.MAX_TOKEN + ")";
        if (this == MYSQL) {
            return "CREATE TABLE IF NOT EXISTS " + table + " (resource VARBINARY(512) PRIMARY KEY, token BIGINT "
                    + token + ") ENGINE=InnoDB";
        }
        // IF NOT EXISTS alone fails if another transaction makes the same table at the same time. That one has
        // committed by then, so a second try finds the table, or fails because a type has the name.
        String create =
                "CREATE TABLE IF NOT EXISTS " + table + " (resource bytea PRIMARY KEY, token bigint " + token + "); ";
        return "DO $$ BEGIN " + create + "EXCEPTION WHEN unique_violation OR duplicate_table OR duplicate_object THEN "
                + create + "END $$";
    }
}
