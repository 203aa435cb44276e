// Package gooselock lets one process at a time run the migrations of goose, by Holdfast. It works with each database, also
// with those in which goose has no lock of its own.
//
//	locker := gooselock.New(client, "migrations.shop")
//	p, err := goose.NewProvider(goose.DialectSQLite3, db, fsys, goose.WithSessionLocker(locker))
package gooselock
