package fences3_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fences3"
)

// The holder with token 33 is paused until its lease has ended. The lock is granted again, with token
// 34. Then the first one wakes up, and does not know.
func Example() {
	ctx := context.Background()
	client := connect(gateway.Addr) // yours comes from s3.NewFromConfig
	guard, err := fences3.New(client, "documents")
	if err != nil {
		log.Fatal(err)
	}
	if err := guard.Verify(ctx); err != nil { // some stores ignore conditions
		log.Fatal(err)
	}
	publish := func(token fence.Token, page string) error {
		_, err := guard.Put(ctx, fence.Claim{Resource: "index.html", Token: token}, &s3.PutObjectInput{
			Key:  aws.String("site/index.html"),
			Body: strings.NewReader(page),
		})
		return err
	}

	fmt.Println(publish(34, "<h1>new</h1>"))
	err = publish(33, "<h1>old</h1>")
	fmt.Println(err)
	fmt.Println(errors.Is(err, fence.ErrStale))
	// Output:
	// <nil>
	// "index.html": stale fencing token: 000000000000033, after 000000000000034 was seen
	// true
}
