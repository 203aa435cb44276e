package fencesql

import (
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// Dialect is the SQL of a database. The zero value is none.
type Dialect uint8

const (
	// PostgreSQL is the dialect of PostgreSQL, whatever the driver.
	PostgreSQL Dialect = iota + 1
	// MySQL is the dialect of MySQL and MariaDB.
	MySQL
	// SQLite is the dialect of SQLite, from 3.37.
	SQLite
)

// String returns the name of the database.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	}
	return "dialect " + strconv.Itoa(int(d))
}

// create returns the statement that makes the table of marks unless it is there. Resources are bytes,
// because text would compare as the collation likes: without case, accents or spaces at the end.
func (d Dialect) create(table string) string {
	token := fmt.Sprintf("NOT NULL CHECK (token BETWEEN 0 AND %d)", messages.MaxToken)
	switch d {
	case PostgreSQL:
		// IF NOT EXISTS alone fails if another transaction makes the same table at the same time. That one has
		// committed by then, so a second try finds the table, or fails because a type has the name.
		statement := "CREATE TABLE IF NOT EXISTS " + table + " (resource bytea PRIMARY KEY, token bigint " + token +
			"); "
		return "DO $$ BEGIN " + statement +
			"EXCEPTION WHEN unique_violation OR duplicate_table OR duplicate_object THEN " + statement + "END $$"
	case MySQL:
		return "CREATE TABLE IF NOT EXISTS " + table + " (resource VARBINARY(512) PRIMARY KEY, token BIGINT " + token +
			") ENGINE=InnoDB"
	default:
		return "CREATE TABLE IF NOT EXISTS " + table + " (resource BLOB NOT NULL PRIMARY KEY, token INTEGER " + token +
			") STRICT, WITHOUT ROWID"
	}
}

// placeholder returns the n-th parameter of a statement, from 1. Parameters are in order, each used once.
func (d Dialect) placeholder(n int) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// forUpdate makes a SELECT read the newest version of its row and lock it. SQLite has no such clause: the
// write before has locked everything.
func (d Dialect) forUpdate() string {
	if d == SQLite {
		return ""
	}
	return " FOR UPDATE"
}

// noTable is in the errors of the drivers when a table is missing. It serves only to say so more clearly.
func (d Dialect) noTable() string {
	switch d {
	case PostgreSQL:
		return "42P01"
	case MySQL:
		return "42S02"
	default:
		return "no such table"
	}
}
