package migratelock_test

import (
	"fmt"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/adapters/migratelock"
)

// Each instance of a service runs this before it starts.
func ExampleNew() {
	client := adaptertest.Client() // holdfast.New(nc)
	database := newStore()         // sqlite.WithInstance(db, &sqlite.Config{})

	m, err := newMigrate(migratelock.New(database, client, "migrations.shop"))
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Up(), m.Up())
	// Output: <nil> no change
}
