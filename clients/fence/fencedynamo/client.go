package fencedynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Client is what the guards need of DynamoDB. A *dynamodb.Client is one.
type Client interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// repeatThrottled keeps the SDK from repeating a write whose outcome is unknown: if the first one had
// been stored, and then that of a later holder, the repetition would be refused as if nothing had been
// written.
func repeatThrottled(o *dynamodb.Options) { o.Retryer = throttledOnly{o.Retryer} }

// unknown names an error whose outcome is unknown as such: DynamoDB has not answered, or not with a refusal.
func unknown(err error) error {
	_, underWay := errors.AsType[*types.TransactionInProgressException](err)
	answer, answered := errors.AsType[*awshttp.ResponseError](err)
	if answered && answer.HTTPStatusCode()/100 == 4 && !underWay {
		return err
	}
	return fmt.Errorf("%w: %w", fence.ErrUnknown, err)
}

type throttledOnly struct{ aws.Retryer }

// IsErrorRetryable reports whether the store has said that it did not take the write.
func (r throttledOnly) IsErrorRetryable(err error) bool {
	throttled := retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err)
	return throttled.Bool() && r.Retryer.IsErrorRetryable(err)
}
