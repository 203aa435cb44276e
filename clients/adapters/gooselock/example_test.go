package gooselock_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"github.com/holdfast-io/holdfast/clients/adapters/gooselock"
	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
)

// Each instance of a service runs this before it starts.
func ExampleNew() {
	ctx := context.Background()
	client := adaptertest.Client() // holdfast.New(nc)
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	migrations := fstest.MapFS{"1_orders.sql": {Data: []byte("-- +goose Up\nCREATE TABLE orders (id INTEGER);\n")}}

	locker := gooselock.New(client, "migrations.shop")
	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations, goose.WithSessionLocker(locker))
	if err != nil {
		panic(err)
	}
	ctx, cancel := gooselock.Context(ctx) // it ends when the lock is lost
	defer cancel()
	results, err := p.Up(ctx)
	fmt.Println(len(results), "applied,", err)
	// Output: 1 applied, <nil>
}
