package fencedynamo_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencedynamo"
)

// The holder with token 33 is paused until its lease has ended. The lock is granted again, with token
// 34. Then the first one wakes up, and does not know.
func Example() {
	ctx := context.Background()
	client := connect(dynalite.Addr) // yours comes from dynamodb.NewFromConfig
	guard, err := fencedynamo.New(client)
	if err != nil {
		log.Fatal(err)
	}
	setBalance := func(token fence.Token, balance string) error {
		_, err := guard.Update(ctx, fence.Claim{Resource: "account.7", Token: token}, &dynamodb.UpdateItemInput{
			TableName:        aws.String("accounts"),
			Key:              map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "7"}},
			UpdateExpression: aws.String("SET balance = :balance"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":balance": &types.AttributeValueMemberN{Value: balance},
			},
		})
		return err
	}

	fmt.Println(setBalance(34, "100"))
	err = setBalance(33, "50")
	fmt.Println(err)
	fmt.Println(errors.Is(err, fence.ErrStale))
	// Output:
	// <nil>
	// "account.7": stale fencing token: 000000000000033, after 000000000000034 was seen
	// true
}

// One lock protects all that a transaction writes.
func ExampleMarks_Transact() {
	ctx := context.Background()
	client := connect(transactions)
	// The table was created once, with client.CreateTable(ctx, fencedynamo.MarksTable("fences")).
	marks, err := fencedynamo.NewMarks(client, "fences")
	if err != nil {
		log.Fatal(err)
	}
	closeAccount := func(token fence.Token, id string) error {
		_, err := marks.Transact(ctx, fence.Claim{Resource: "accounts", Token: token},
			&dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{{Delete: &types.Delete{
					TableName: aws.String("accounts"),
					Key:       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
				}}},
			})
		return err
	}

	fmt.Println(closeAccount(34, "7"))
	fmt.Println(closeAccount(33, "8"))
	// Output:
	// <nil>
	// "accounts": stale fencing token: 000000000000033, after 000000000000034 was seen
}
