package fencedynamo_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencedynamo"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// The suite runs over UpdateItem and over PutItem, and over a store that shows the item of a failed
// condition and one that does not.
func TestGuard(t *testing.T) {
	table := makeTable(t)
	for name, addr := range map[string]string{"Shown": transactions, "NotShown": dynalite.Addr} {
		for operation, write := range map[string]write{"Update": byUpdate, "Put": byPut} {
			t.Run(name+"/"+operation, func(t *testing.T) {
				with := func(tb testing.TB, addr string, o fencedynamo.Option) fencetest.Register {
					tb.Helper()
					client := connect(addr)
					return &register{client, mustGuard(tb, client, o), table, write}
				}
				at := func(tb testing.TB, rule fence.Rule, addr string) fencetest.Register {
					tb.Helper()
					return with(tb, addr, fencedynamo.WithRule(rule))
				}
				fencetest.Run(t, fencetest.Subject{
					Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
						tb.Helper()
						return at(tb, rule, addr)
					},
					Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
						tb.Helper()
						return with(tb, addr, fencedynamo.WithObserver(o))
					},
					Through: through(at, addr),
					Restart: dynalite.Restart,
					Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
						tb.Helper()
						return &register{guard: mustGuard(tb, connect(addr), fencedynamo.WithRule(rule)), table: table}
					},
				})
			})
		}
	}
}

// register keeps the value of a resource in the item of that name.
type register struct {
	*dynamodb.Client
	guard *fencedynamo.Guard
	table string
	write write
}

type write func(ctx context.Context, g *fencedynamo.Guard, c fence.Claim, table, value string) error

func (r *register) Write(ctx context.Context, c fence.Claim, value string) error {
	return r.write(ctx, r.guard, c, r.table, value)
}

func (r *register) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	return r.guard.Modify(ctx, c, r.table, key(c.Resource),
		func(old map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
			value, err := f(valueOf(old))
			return item(c.Resource, value), err
		})
}

func (r *register) Raise(ctx context.Context, c fence.Claim) error {
	return r.guard.Raise(ctx, c, r.table, key(c.Resource))
}

func byUpdate(ctx context.Context, g *fencedynamo.Guard, c fence.Claim, table, value string) error {
	_, err := g.Update(ctx, c, update(table, c.Resource, value))
	return err
}

func byPut(ctx context.Context, g *fencedynamo.Guard, c fence.Claim, table, value string) error {
	_, err := g.Put(ctx, c, &dynamodb.PutItemInput{TableName: &table, Item: item(c.Resource, value)})
	return err
}

func (r *register) Read(ctx context.Context, resource string) (string, error) {
	return value(ctx, r.Client, r.table, resource)
}

func TestOwnCondition(t *testing.T) {
	for name, addr := range map[string]string{"Shown": transactions, "NotShown": dynalite.Addr} {
		t.Run(name, func(t *testing.T) {
			client, table := connect(addr), makeTable(t)
			guard, c := mustGuard(t, client), fence.Claim{Resource: "a", Token: 33}
			in := update(table, "a", "one")
			in.ConditionExpression = aws.String("attribute_exists(id) OR #v = :v")
			wantConditionFailed(t, failure(guard.Update(t.Context(), c, in)))
			wantValue(t, client, table, "a", "")

			in.ConditionExpression = aws.String("attribute_not_exists(id) OR #v = :v")
			must(t, failure(guard.Update(t.Context(), c, in)))
			put := &dynamodb.PutItemInput{TableName: &table, Item: item("a", "two"),
				ConditionExpression: aws.String("attribute_not_exists(id)")}
			wantConditionFailed(t, failure(guard.Put(t.Context(), c, put)))
			wantValue(t, client, table, "a", "one")

			// An own condition with OR does not open the way to a stale token.
			in.ConditionExpression = aws.String("attribute_exists(id) OR #v = :v")
			wantStale(t, failure(guard.Update(t.Context(), fence.Claim{Resource: "a", Token: 32}, in)), 33)
			// With both conditions failing, the token is what counts.
			in.ConditionExpression = aws.String("attribute_not_exists(id)")
			wantStale(t, failure(guard.Update(t.Context(), fence.Claim{Resource: "a", Token: 32}, in)), 33)
		})
	}
}

// The mark is set together with whatever else an expression does, and the input stays as it was.
func TestUpdateExpressions(t *testing.T) {
	client, table := connect(dynalite.Addr), makeTable(t)
	guard := mustGuard(t, client)
	names := map[string]string{"#v": "value", "#set": "inset"}
	values := map[string]types.AttributeValue{":v": text("=x"), ":set": text("y"),
		":one": &types.AttributeValueMemberN{Value: "1"}}
	for expression, want := range map[string]string{
		"SET #v = :v":                           "x",
		"set #v = :v, spare = :v":               "x",
		"REMOVE spare SET #v = :v":              "x",
		"REMOVE spare\nSet\t#v = :v":            "x",
		"SET #v = :v REMOVE spare":              "x",
		"SET #set = :set, #v = :v REMOVE asset": "x",
		"REMOVE #v":                             "",
		"ADD amount :one":                       "",
	} {
		in := &dynamodb.UpdateItemInput{TableName: &table, Key: key(expression), UpdateExpression: &expression,
			ExpressionAttributeNames: used(names, expression), ExpressionAttributeValues: used(values, expression)}
		before := *in
		must(t, failure(guard.Update(t.Context(), fence.Claim{Resource: "r", Token: 33}, in)))
		if !reflect.DeepEqual(*in, before) || len(in.ExpressionAttributeNames) != len(used(names, expression)) {
			t.Errorf("%q: the input was changed: %+v", expression, in)
		}
		wantValue(t, client, table, expression, want)
		wantStale(t, failure(guard.Update(t.Context(), fence.Claim{Resource: "r", Token: 32}, in)), 33)
	}
	bare := &dynamodb.UpdateItemInput{TableName: &table, Key: key("bare")}
	must(t, failure(guard.Update(t.Context(), fence.Claim{Resource: "r", Token: 33}, bare)))
	wantStale(t, failure(guard.Update(t.Context(), fence.Claim{Resource: "r", Token: 32}, bare)), 33)
}

func TestPutCarriesTheMarkOn(t *testing.T) {
	client, table := connect(dynalite.Addr), makeTable(t)
	guard, c := mustGuard(t, client), fence.Claim{Resource: "a", Token: 33}
	must(t, failure(guard.Update(t.Context(), c, update(table, "a", "one"))))
	in := &dynamodb.PutItemInput{TableName: &table, Item: item("a", "two")}
	must(t, failure(guard.Put(t.Context(), c, in)))
	if len(in.Item) != 2 {
		t.Errorf("the caller's item is now %v", in.Item)
	}
	c.Token = 32
	wantStale(t, failure(guard.Put(t.Context(), c, in)), 33)
	wantStale(t, failure(guard.Update(t.Context(), c, update(table, "a", "three"))), 33)
	wantValue(t, client, table, "a", "two")
}

// Two locks may protect one item, with a mark each.
func TestTwoAttributes(t *testing.T) {
	client, table := connect(dynalite.Addr), makeTable(t)
	one := mustGuard(t, client)
	other := mustGuard(t, client, fencedynamo.WithAttribute("fence of the other"))
	must(t, failure(one.Update(t.Context(), fence.Claim{Resource: "one", Token: 50}, update(table, "a", "one"))))
	must(t, failure(other.Update(t.Context(), fence.Claim{Resource: "other", Token: 2}, update(table, "a", "two"))))
	wantStale(t, failure(one.Update(t.Context(), fence.Claim{Resource: "one", Token: 49}, update(table, "a", "three"))),
		50)
	wantStale(t, failure(other.Update(t.Context(), fence.Claim{Resource: "other", Token: 1},
		update(table, "a", "three"))), 2)
}

// An invalid input of the caller is refused before it is sent.
func TestInvalidInput(t *testing.T) {
	client, table := connect("127.0.0.1:1"), "t"
	guard, c := mustGuard(t, client), fence.Claim{Resource: "a", Token: 33}
	for name, edit := range map[string]func(*dynamodb.UpdateItemInput){
		"reserved name": func(in *dynamodb.UpdateItemInput) {
			in.ExpressionAttributeNames["#holdfast_x"] = "x"
		},
		"reserved value": func(in *dynamodb.UpdateItemInput) {
			in.ExpressionAttributeValues[":holdfast_token"] = text("x")
		},
		"mark under a name": func(in *dynamodb.UpdateItemInput) {
			in.ExpressionAttributeNames["#m"] = fencedynamo.DefaultAttribute
		},
		"mark itself": func(in *dynamodb.UpdateItemInput) {
			in.UpdateExpression = aws.String("REMOVE holdfast_fence")
		},
		"mark by our name": func(in *dynamodb.UpdateItemInput) {
			in.UpdateExpression = aws.String("REMOVE #holdfast_mark")
		},
		"breaks out": func(in *dynamodb.UpdateItemInput) {
			in.ConditionExpression = aws.String("#v = :v) OR (#v = :v")
		},
		"opens and does not close": func(in *dynamodb.UpdateItemInput) {
			in.ConditionExpression = aws.String("(#v = :v")
		},
	} {
		in := update(table, "a", "x")
		edit(in)
		wantInvalid(t, name, failure(guard.Update(t.Context(), c, in)))
	}
	put := &dynamodb.PutItemInput{TableName: &table, Item: item("a", "x")}
	put.Item[fencedynamo.DefaultAttribute] = &types.AttributeValueMemberN{Value: "1"}
	wantInvalid(t, "mark in a put", failure(guard.Put(t.Context(), c, put)))
	wantInvalid(t, "no update", failure(guard.Update(t.Context(), c, nil)))
	wantInvalid(t, "no put", failure(guard.Put(t.Context(), c, nil)))
	wantInvalid(t, "no claim", failure(guard.Update(t.Context(), fence.Claim{}, update(table, "a", "x"))))
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]fencedynamo.Option{
		"no attribute":   fencedynamo.WithAttribute(""),
		"long attribute": fencedynamo.WithAttribute(strings.Repeat("a", 256)),
		"no rule":        fencedynamo.WithRule(7),
	} {
		_, err := fencedynamo.New(connect(dynalite.Addr), o)
		wantInvalid(t, name, err)
	}
}

// A mark that no guard has written is reported, and stays.
func TestMalformedMark(t *testing.T) {
	for name, stored := range map[string]types.AttributeValue{
		"text":     text("000000000000007"),
		"null":     &types.AttributeValueMemberNULL{Value: true},
		"zero":     &types.AttributeValueMemberN{Value: "0"},
		"negative": &types.AttributeValueMemberN{Value: "-5"},
		"fraction": &types.AttributeValueMemberN{Value: "33.5"},
		"too high": &types.AttributeValueMemberN{Value: "900000000000001"},
		"huge":     &types.AttributeValueMemberN{Value: "99999999999999999999999999999999999999"},
	} {
		t.Run(name, func(t *testing.T) {
			client, table := connect(transactions), makeTable(t)
			guard, c := mustGuard(t, client), fence.Claim{Resource: "a", Token: 33}
			foreign := item("a", "kept")
			foreign[fencedynamo.DefaultAttribute] = stored
			must(t, failure(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: foreign})))
			for _, err := range []error{
				failure(guard.Update(t.Context(), c, update(table, "a", "lost"))),
				failure(guard.Put(t.Context(), c, &dynamodb.PutItemInput{TableName: &table, Item: item("a", "lost")})),
			} {
				if !errors.Is(err, fence.ErrMalformed) || errors.Is(err, fence.ErrStale) ||
					errors.Is(err, fence.ErrInvalid) {
					t.Errorf("%v, want ErrMalformed", err)
				}
			}
			wantValue(t, client, table, "a", "kept")
		})
	}
}

func TestMissingTable(t *testing.T) {
	guard := mustGuard(t, connect(dynalite.Addr))
	_, err := guard.Update(t.Context(), fence.Claim{Resource: "a", Token: 33}, update("missing", "a", "x"))
	if missing, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok || !strings.Contains(err.Error(), `"missing"`) {
		t.Errorf("%v (%v), want one that names the table", err, missing)
	}
}

// TestModify keeps the key of its item, and cannot serve Once.
func TestModify(t *testing.T) {
	client, table := connect(dynalite.Addr), makeTable(t)
	guard, c := mustGuard(t, client), fence.Claim{Resource: "a", Token: 33}
	must(t, guard.Modify(t.Context(), c, table, key("a"),
		func(old map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
			if len(old) != 1 || old["id"] == nil {
				t.Errorf("a new item has %v", old)
			}
			return item("b", "one"), nil
		}))
	wantValue(t, client, table, "a", "one")
	wantValue(t, client, table, "b", "")
	once := mustGuard(t, client, fencedynamo.WithRule(fence.Once))
	wantInvalid(t, "once", once.Modify(t.Context(), fence.Claim{Resource: "a", Token: 34}, table, key("a"), nil))
	must(t, guard.Raise(t.Context(), c, table, key("a")))
}
