// Program acquire takes a lock, as an application does that has the released client, and prints its token.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	nc, err := holdfast.Connect(os.Args[1])
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc)
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	return client.Do(ctx, os.Args[2], func(_ context.Context, lock *holdfast.Lock) error {
		_, err := fmt.Println("token", lock.Token())
		return err
	})
}
