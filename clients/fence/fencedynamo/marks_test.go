package fencedynamo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencedynamo"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// The suite runs over transactions.
func TestTransact(t *testing.T) {
	table, marks := makeTable(t), makeMarks(t)
	with := func(tb testing.TB, addr string, o fencedynamo.Option) fencetest.Register {
		tb.Helper()
		client := connect(addr)
		return &ledger{client, mustMarks(tb, client, marks, o), table}
	}
	at := func(tb testing.TB, rule fence.Rule, addr string) fencetest.Register {
		tb.Helper()
		return with(tb, addr, fencedynamo.WithRule(rule))
	}
	fencetest.Run(t, fencetest.Subject{
		Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
			tb.Helper()
			return at(tb, rule, transactions)
		},
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return with(tb, transactions, fencedynamo.WithObserver(o))
		},
		Through: through(at, transactions),
		Restart: dynalite.Restart,
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return mustMarks(tb, connect(transactions), marks, fencedynamo.WithRule(rule))
		},
	})
}

// ledger keeps the value of a resource in the item of that name, and its mark elsewhere.
type ledger struct {
	*dynamodb.Client
	marks *fencedynamo.Marks
	table string
}

func (l *ledger) Write(ctx context.Context, c fence.Claim, value string) error {
	_, err := l.marks.Transact(ctx, c, transaction(types.TransactWriteItem{
		Put: &types.Put{TableName: &l.table, Item: item(c.Resource, value)}}))
	return err
}

func (l *ledger) Read(ctx context.Context, resource string) (string, error) {
	return value(ctx, l.Client, l.table, resource)
}

func transaction(actions ...types.TransactWriteItem) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{TransactItems: actions}
}

// One lock protects several items, whatever is done to them, deletion included.
func TestSeveralItems(t *testing.T) {
	client, table := connect(transactions), makeTable(t)
	marks := mustMarks(t, client, makeMarks(t))
	c := fence.Claim{Resource: "all", Token: 33}
	put := func(id, v string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: item(id, v)}}
	}
	in := transaction(put("a", "one"), put("b", "one"))
	must(t, failure(marks.Transact(t.Context(), c, in)))
	if len(in.TransactItems) != 2 {
		t.Errorf("the caller's input has %d actions now", len(in.TransactItems))
	}
	c.Token = 34
	drop := types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: key("a")}}
	must(t, failure(marks.Transact(t.Context(), c, transaction(drop))))

	// The paused holder cannot bring the item back, nor touch one that 34 has not.
	c.Token = 33
	wantStale(t, failure(marks.Transact(t.Context(), c, transaction(put("a", "back")))), 34)
	wantStale(t, failure(marks.Transact(t.Context(), c, transaction(put("b", "two"), drop))), 34)
	wantStale(t, marks.Raise(t.Context(), c), 34)
	wantValue(t, client, table, "a", "")
	wantValue(t, client, table, "b", "one")
}

// A transaction that fails by the caller's own condition leaves the mark as it was, and its reasons are
// in the caller's order.
func TestTransactOwnCondition(t *testing.T) {
	client, table := connect(transactions), makeTable(t)
	marks := mustMarks(t, client, makeMarks(t))
	missing := types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: key("missing"),
		ConditionExpression: aws.String("attribute_exists(id)")}}
	put := types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: item("a", "one")}}
	c := fence.Claim{Resource: "r", Token: 50}
	err := failure(marks.Transact(t.Context(), c, transaction(put, missing)))
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || errors.Is(err, fence.ErrStale) || errors.Is(err, fencedynamo.ErrConflict) {
		t.Fatalf("%v, want the caller's own condition to fail", err)
	}
	if got := aws.ToString(cancelled.CancellationReasons[1].Code); got != "ConditionalCheckFailed" {
		t.Errorf("the reason of the second action is %s", got)
	}
	wantValue(t, client, table, "a", "")
	c.Token = 33
	must(t, failure(marks.Transact(t.Context(), c, transaction(put))))

	// With both conditions failing, the token is what counts.
	c.Token = 32
	wantStale(t, failure(marks.Transact(t.Context(), c, transaction(put, missing))), 33)
}

func TestTransactInvalid(t *testing.T) {
	const table = "marks"
	marks := mustMarks(t, connect("127.0.0.1:1"), table)
	on := func(name string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &name, Item: item("a", "x")}}
	}
	c := fence.Claim{Resource: "r", Token: 33}
	for name, in := range map[string]*dynamodb.TransactWriteItemsInput{
		"no input":    nil,
		"100 actions": transaction(make([]types.TransactWriteItem, 100)...),
		"put":         transaction(on("data"), on(table)),
		"ARN":         transaction(on("arn:aws:dynamodb:eu-central-1:123456789012:table/" + table)),
		"update":      transaction(types.TransactWriteItem{Update: &types.Update{TableName: aws.String(table)}}),
		"deletion":    transaction(types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String(table)}}),
		"closer check": transaction(types.TransactWriteItem{
			ConditionCheck: &types.ConditionCheck{TableName: aws.String(table)}}),
	} {
		wantInvalid(t, name, failure(marks.Transact(t.Context(), c, in)))
	}
	_, err := fencedynamo.NewMarks(connect("127.0.0.1:1"), table, fencedynamo.WithAttribute("resource"))
	wantInvalid(t, "the key for an attribute", err)
}

// Names are keys as they are: of any length that is allowed, and of any bytes.
func TestNames(t *testing.T) {
	marks := mustMarks(t, connect(dynalite.Addr), makeMarks(t))
	names := []string{strings.Repeat("n", 512), strings.Repeat("n", 511), strings.Repeat("é", 256),
		strings.Repeat("🔒", 128),
		"resource", "#holdfast_mark", ":holdfast_token", " ", ".", "a/../b", "a", "A"}
	for i, name := range names {
		must(t, marks.Raise(t.Context(), fence.Claim{Resource: name, Token: fence.Token(100 + i)}))
	}
	for i, name := range names {
		wantStale(t, marks.Raise(t.Context(), fence.Claim{Resource: name, Token: 99}), fence.Token(100+i))
	}
	wantInvalid(t, "513 bytes", marks.Raise(t.Context(), fence.Claim{Resource: strings.Repeat("n", 513), Token: 1}))
}

func TestMissingMarks(t *testing.T) {
	table := makeTable(t)
	marks := mustMarks(t, connect(transactions), "missing")
	c := fence.Claim{Resource: "r", Token: 33}
	put := transaction(types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: item("a", "x")}})
	for _, err := range []error{marks.Raise(t.Context(), c), failure(marks.Transact(t.Context(), c, put))} {
		if err == nil || !strings.Contains(err.Error(), `fencedynamo.MarksTable("missing")`) {
			t.Errorf("%v, want one that says how to create the table", err)
		}
	}
}

func TestMalformedMarkOfItsOwn(t *testing.T) {
	client, table := connect(transactions), makeMarks(t)
	marks, c := mustMarks(t, client, table), fence.Claim{Resource: "r", Token: 33}
	must(t, failure(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table,
		Item: map[string]types.AttributeValue{
			"resource": text("r"), fencedynamo.DefaultAttribute: text("34")}})))
	for _, err := range []error{marks.Raise(t.Context(), c), failure(marks.Transact(t.Context(), c, transaction()))} {
		if !errors.Is(err, fence.ErrMalformed) || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%v, want ErrMalformed", err)
		}
	}
}
