package holdfast_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func ExampleClient_Do() {
	ctx := context.Background()
	nc, err := holdfast.Connect(url)
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	client, err := holdfast.New(nc)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = client.Do(ctx, "invoices/2026", func(ctx context.Context, l *holdfast.Lock) error {
		fmt.Println("numbering the invoices under", l.Resource())
		return ctx.Err() // ends when the lock is lost
	})
	fmt.Println(err)
	// Output:
	// numbering the invoices under invoices/2026
	// <nil>
}
