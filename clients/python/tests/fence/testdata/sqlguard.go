//go:build ignore

// Command sqlguard writes rows under fencesql, for the tests of the guard in Python. Its arguments are the address of
// the database and the resource. For each token of its input it inserts the token into the table "log", and answers.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
)

func main() {
	db, err := sql.Open("pgx", os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	guard, err := fencesql.New(fencesql.PostgreSQL)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ctx := context.Background()
	if err := guard.CreateTable(ctx, db); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for tokens := bufio.NewScanner(os.Stdin); tokens.Scan(); {
		token, err := strconv.ParseUint(tokens.Text(), 10, 64)
		if err == nil {
			claim := fence.Claim{Resource: os.Args[2], Token: fence.Token(token)}
			err = guard.Do(ctx, db, claim, func(tx *sql.Tx) error {
				_, err := tx.Exec("INSERT INTO log (token) VALUES ($1)", int64(token))
				return err
			})
		}
		fmt.Println(verdict(err))
	}
}

func verdict(err error) string {
	switch {
	case err == nil:
		return "passed"
	case errors.Is(err, fence.ErrStale):
		return "stale"
	}
	return err.Error()
}
