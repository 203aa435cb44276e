package fencedynamo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencedynamo"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

var tables atomic.Uint64

// makeTable makes a table of items with the key "id".
func makeTable(tb testing.TB) string {
	tb.Helper()
	return create(tb, dataTable(fmt.Sprintf("data%d", tables.Add(1))))
}

func dataTable(name string) *dynamodb.CreateTableInput {
	in := fencedynamo.MarksTable(name)
	in.AttributeDefinitions[0].AttributeName, in.KeySchema[0].AttributeName = aws.String("id"), aws.String("id")
	return in
}

func makeMarks(tb testing.TB) string {
	tb.Helper()
	return create(tb, fencedynamo.MarksTable(fmt.Sprintf("marks%d", tables.Add(1))))
}

func create(tb testing.TB, in *dynamodb.CreateTableInput) string {
	tb.Helper()
	client := connect(dynalite.Addr)
	must(tb, failure(client.CreateTable(tb.Context(), in)))
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = patience/1000, patience/100
	})
	must(tb, waiter.Wait(tb.Context(), &dynamodb.DescribeTableInput{TableName: in.TableName}, patience))
	return *in.TableName
}

func mustGuard(tb testing.TB, client fencedynamo.Client, opts ...fencedynamo.Option) *fencedynamo.Guard {
	tb.Helper()
	g, err := fencedynamo.New(client, opts...)
	must(tb, err)
	return g
}

func mustMarks(tb testing.TB, client fencedynamo.Client, table string, opts ...fencedynamo.Option) *fencedynamo.Marks {
	tb.Helper()
	m, err := fencedynamo.NewMarks(client, table, opts...)
	must(tb, err)
	return m
}

// through returns registers that reach the server at addr by a detour.
func through(at func(testing.TB, fence.Rule, string) fencetest.Register, addr string) func(testing.TB, fence.Rule,
	func(string) string) fencetest.Register {
	return func(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
		tb.Helper()
		return at(tb, rule, via(addr))
	}
}

// update sets the value of an item. Values have a sign before them, because dynalite takes no empty ones.
func update(table, id, value string) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:                 &table,
		Key:                       key(id),
		UpdateExpression:          aws.String("SET #v = :v"),
		ExpressionAttributeNames:  map[string]string{"#v": "value"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": text("=" + value)},
	}
}

func item(id, value string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": text(id), "value": text("=" + value)}
}

func key(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": text(id)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// used returns those placeholders that stand in an expression; nil if none does.
func used[V any](all map[string]V, expression string) map[string]V {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(name string, _ V) bool { return !strings.Contains(expression, name) })
	if len(some) == 0 {
		return nil
	}
	return some
}

// value returns the value of an item, empty if there is none.
func value(ctx context.Context, client *dynamodb.Client, table, id string) (string, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key(id),
		ConsistentRead: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	return valueOf(out.Item), nil
}

// valueOf returns the value of an item, empty if it has none.
func valueOf(item map[string]types.AttributeValue) string {
	v, ok := item["value"].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return strings.TrimPrefix(v.Value, "=")
}

func wantValue(tb testing.TB, client *dynamodb.Client, table, id, want string) {
	tb.Helper()
	got, err := value(tb.Context(), client, table, id)
	must(tb, err)
	if got != want {
		tb.Errorf("%q is %q, want %q", id, got, want)
	}
}

func wantStale(tb testing.TB, err error, highest fence.Token) {
	tb.Helper()
	if stale, ok := errors.AsType[*fence.StaleError](err); !ok || stale.Highest != highest {
		tb.Errorf("%v, want a StaleError after %d", err, highest)
	}
}

func wantConditionFailed(tb testing.TB, err error) {
	tb.Helper()
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); !ok || errors.Is(err, fence.ErrStale) {
		tb.Errorf("%v, want the caller's own condition to fail", err)
	}
}

func wantInvalid(tb testing.TB, name string, err error) {
	tb.Helper()
	if !errors.Is(err, fence.ErrInvalid) {
		tb.Errorf("%s: %v, want one that is ErrInvalid", name, err)
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// failure drops the output of a call.
func failure[Output any](_ Output, err error) error { return err }
