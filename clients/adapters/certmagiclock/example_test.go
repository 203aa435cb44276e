package certmagiclock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/caddyserver/certmagic"

	"github.com/holdfast-io/holdfast/clients/adapters/certmagiclock"
	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
)

// Each process runs this; one of them asks the issuer, and the others read what it has stored.
func ExampleNew() {
	ctx := context.Background()
	client := adaptertest.Client() // holdfast.New(nc)
	dir, err := os.MkdirTemp("", "certs-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	storage := certmagiclock.New(&certmagic.FileStorage{Path: dir}, client, "certs/")
	config := config(storage, func() error { // certmagic.New(cache, certmagic.Config{Storage: storage})
		fmt.Println("asks the issuer")
		return nil
	})
	for range 2 {
		if err := config.ObtainCertSync(ctx, "example.com"); err != nil {
			panic(err)
		}
	}
	// Output: asks the issuer
}
