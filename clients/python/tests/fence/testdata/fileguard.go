//go:build ignore

// Command fileguard changes a directory under fencefile, for the tests of the guard in Python. Its arguments are the
// directory and the resource. For each token of its input it appends the token to the file "log", and answers.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
)

func main() {
	dir, err := fencefile.Open(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for tokens := bufio.NewScanner(os.Stdin); tokens.Scan(); {
		token, err := strconv.ParseUint(tokens.Text(), 10, 64)
		if err == nil {
			claim := fence.Claim{Resource: os.Args[2], Token: fence.Token(token)}
			err = dir.Do(context.Background(), claim, func(root *os.Root) error { return record(root, tokens.Text()) })
		}
		fmt.Println(verdict(err))
	}
}

func record(root *os.Root, token string) error {
	f, err := root.OpenFile("log", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, token)
	return errors.Join(err, f.Close())
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
