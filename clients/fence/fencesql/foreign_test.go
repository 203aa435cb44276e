package fencesql_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// TestForeignPostgreSQL runs the suite with the guards of other languages in the same database.
func TestForeignPostgreSQL(t *testing.T) {
	d := postgres(t)
	fencetest.RunForeign(t, subject(d), fencetest.Store{
		Names:   map[string][]string{"python": {"postgresql"}, "typescript": {"postgresql"}, "java": {"postgresql"}},
		Address: func(via func(string) string) string { return via(d.process.Addr) },
		Keys:    func(resource string) []string { return []string{resource} },
	})
}

// TestForeignMariaDB does so with the guard in Java.
func TestForeignMariaDB(t *testing.T) {
	d := mariadb(t, "")
	fencetest.RunForeign(t, subject(d), fencetest.Store{
		Names:   map[string][]string{"java": {"mariadb"}},
		Address: func(via func(string) string) string { return via(d.process.Addr) },
		Keys:    func(resource string) []string { return []string{resource} },
	})
}

// TestForeignSQLite does so with the guard in Python in the same file.
func TestForeignSQLite(t *testing.T) {
	d, file := sqliteAt(t, "?_txlock=immediate")
	fencetest.RunForeign(t, subject(d), fencetest.Store{
		Names:   map[string][]string{"python": {"sqlite"}},
		Address: func(func(string) string) string { return file },
		Keys:    func(resource string) []string { return []string{resource} },
	})
}
