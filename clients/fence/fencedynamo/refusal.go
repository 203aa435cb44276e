package fencedynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// ErrConflict says that another transaction was changing the same items. Nothing was written, and the
// claim was not checked; the same call may be repeated.
var ErrConflict = errors.New("conflict with another transaction")

// Codes of the reasons for which a transaction is cancelled.
const (
	codeConditionFailed = "ConditionalCheckFailed"
	codeConflict        = "TransactionConflict"
)

// place says where an item is: by its key, or by an item that has the key among its attributes.
type place struct {
	table *string
	key   map[string]types.AttributeValue
	item  map[string]types.AttributeValue
}

// explain says why a write has failed.
func (g *Guard) explain(ctx context.Context, c fence.Claim, cause error, p place) error {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](cause); ok {
		return g.judge(ctx, c, cause, failed.Item, p)
	}
	if _, ok := errors.AsType[*types.TransactionConflictException](cause); ok {
		cause = fmt.Errorf("%w: %w", ErrConflict, cause)
	}
	return fmt.Errorf("resource %q, table %q: %w", c.Resource, aws.ToString(p.table), unknown(cause))
}

// judge reports whether a condition has failed because of the mark. The item is the one that failed it, nil
// if the store did not say.
func (g *Guard) judge(ctx context.Context, c fence.Claim, cause error, item map[string]types.AttributeValue,
	p place) error {
	var err error
	if item == nil {
		// A mark that has risen since then refuses the claim just as well.
		if item, err = g.look(ctx, p); err != nil {
			return fmt.Errorf("resource %q, table %q: %w; whether the mark was the reason is unknown: %w", c.Resource,
				aws.ToString(p.table), cause, err)
		}
	}
	highest, err := g.mark.read(item)
	if err != nil {
		return fmt.Errorf("resource %q, table %q: %w", c.Resource, aws.ToString(p.table), err)
	}
	if err := g.mark.rule.Check(c, highest); err != nil {
		return err
	}
	return fmt.Errorf("resource %q, table %q: the caller's own condition: %w", c.Resource, aws.ToString(p.table), cause)
}

// look reads the item at a place as it is now, nil if there is none.
func (g *Guard) look(ctx context.Context, p place) (map[string]types.AttributeValue, error) {
	if p.key == nil {
		var err error
		if p.key, err = g.describe(ctx, p); err != nil {
			return nil, fmt.Errorf("describing the table: %w", err)
		}
	}
	out, err := g.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:                p.table,
		Key:                      p.key,
		ConsistentRead:           aws.Bool(true),
		ProjectionExpression:     aws.String(nameMark),
		ExpressionAttributeNames: map[string]string{nameMark: g.mark.attribute},
	})
	if err != nil {
		return nil, fmt.Errorf("reading the mark: %w", err)
	}
	return out.Item, nil
}

// describe returns the key that is among the attributes of a place.
func (g *Guard) describe(ctx context.Context, p place) (map[string]types.AttributeValue, error) {
	out, err := g.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: p.table})
	if err != nil {
		return nil, err
	}
	key := map[string]types.AttributeValue{}
	for _, k := range out.Table.KeySchema {
		key[aws.ToString(k.AttributeName)] = p.item[aws.ToString(k.AttributeName)]
	}
	return key, nil
}
