package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
)

// Two holders of the lock on one account: 33 was granted first, then came a pause longer than the lease,
// and 34 was granted.
func Example() {
	ctx := context.Background()
	db, remove := openExample("CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER)",
		"INSERT INTO accounts VALUES ('alice', 100)")
	defer remove()

	guard, err := fencesql.New(fencesql.SQLite)
	if err != nil {
		log.Fatal(err)
	}
	if err := guard.CreateTable(ctx, db); err != nil {
		log.Fatal(err)
	}
	withdraw := func(token fence.Token, amount int) error {
		claim := fence.Claim{Resource: "account.alice", Token: token} // what lock.Claim returns
		return guard.Do(ctx, db, claim, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - ? WHERE id = 'alice'", amount)
			return err
		})
	}

	fmt.Println("33 withdraws 10:", withdraw(33, 10))
	fmt.Println("34 withdraws 20:", withdraw(34, 20))
	err = withdraw(33, 30) // after the pause
	fmt.Println("33 withdraws 30:", err)
	fmt.Println("the lock is lost:", errors.Is(err, fence.ErrStale))

	var balance int
	if err := db.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = 'alice'").Scan(&balance); err != nil {
		log.Fatal(err)
	}
	fmt.Println("balance:", balance)
	// Output:
	// 33 withdraws 10: <nil>
	// 34 withdraws 20: <nil>
	// 33 withdraws 30: "account.alice": stale fencing token: 000000000000033, after 000000000000034 was seen
	// the lock is lost: true
	// balance: 70
}

// The lock protects one row, so the token can stand in the row itself.
func ExampleColumn_Update() {
	ctx := context.Background()
	db, remove := openExample(
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, fencing_token BIGINT NOT NULL DEFAULT 0)",
		"INSERT INTO orders (id, status) VALUES (42, 'new')")
	defer remove()

	guard, err := fencesql.New(fencesql.SQLite)
	if err != nil {
		log.Fatal(err)
	}
	orders, err := guard.Column("orders", "id", "fencing_token")
	if err != nil {
		log.Fatal(err)
	}
	setStatus := func(token fence.Token, id int, status string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		claim := fence.Claim{Resource: fmt.Sprint("orders.", id), Token: token}
		if err := orders.Update(ctx, tx, claim, id, "status = ?", status); err != nil {
			return err
		}
		return tx.Commit()
	}

	fmt.Println(setStatus(33, 42, "paid"))
	fmt.Println(setStatus(34, 42, "shipped"))
	fmt.Println(setStatus(33, 42, "cancelled"))
	fmt.Println(setStatus(35, 43, "paid"))
	// Output:
	// <nil>
	// <nil>
	// "orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen
	// fencesql: orders has no row with id 43: sql: no rows in result set
}

// openExample returns a database in a folder of its own, and what removes it.
func openExample(statements ...string) (db *sql.DB, remove func()) {
	dir, err := os.MkdirTemp("", "fencesql")
	if err != nil {
		panic(err)
	}
	db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "example.db")+
		"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		panic(err)
	}
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			panic(err)
		}
	}
	return db, func() { _ = errors.Join(db.Close(), os.RemoveAll(dir)) }
}
