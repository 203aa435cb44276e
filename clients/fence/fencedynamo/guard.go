package fencedynamo

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// DefaultAttribute is the attribute that holds the mark unless [WithAttribute] says otherwise.
const DefaultAttribute = "holdfast_fence"

// guardName is how an observer knows the guards of this package.
const guardName = "fencedynamo"

// Guard guards items that carry their own mark. It may be used concurrently.
type Guard struct {
	client Client
	mark   mark
}

// Option changes how items are guarded.
type Option func(*mark)

// WithRule sets the rule; the default is [fence.Repeatable].
func WithRule(r fence.Rule) Option {
	return func(m *mark) { m.rule = r }
}

// WithAttribute sets the name of the attribute that holds the mark. Two locks that protect the same item
// need two names.
func WithAttribute(name string) Option {
	return func(m *mark) { m.attribute = name }
}

// WithObserver sets the observer, which receives each claim that the guard has checked.
func WithObserver(o fence.Observer) Option {
	return func(m *mark) { m.observer = o }
}

// New returns a guard. The error is [fence.ErrInvalid] if an argument breaks a rule.
func New(client Client, opts ...Option) (*Guard, error) {
	m := mark{attribute: DefaultAttribute}
	for _, o := range opts {
		o(&m)
	}
	if err := m.rule.Validate(); err != nil {
		return nil, err
	}
	switch {
	case client == nil:
		return nil, fmt.Errorf("%w: the client is nil", fence.ErrInvalid)
	case m.attribute == "" || len(m.attribute) > 255:
		return nil, fmt.Errorf("%w: the attribute of the mark must have 1 to 255 bytes: %q", fence.ErrInvalid,
			m.attribute)
	}
	return &Guard{client, m}, nil
}

// Update updates an item, or makes it, as UpdateItem does, and raises its mark. The input must use
// expressions: DynamoDB does not mix them with its legacy parameters.
//
// The error is a [fence.StaleError] if the rule refuses the claim, [fence.ErrInvalid] if the claim or the
// input breaks a rule, [fence.ErrMalformed] if the stored mark is not one, [ErrConflict] if a transaction was
// changing the item, and DynamoDB's ConditionalCheckFailedException if the caller's own condition fails;
// nothing was written then. After [fence.ErrUnknown] the item may have been written.
func (g *Guard) Update(ctx context.Context, c fence.Claim, in *dynamodb.UpdateItemInput) (_ *dynamodb.UpdateItemOutput,
	err error) {
	defer g.mark.observer.Conclude(guardName, c, &err)
	if in == nil {
		return nil, errNoInput
	}
	e, err := g.mark.guard(expressions{in.ConditionExpression, in.ExpressionAttributeNames,
		in.ExpressionAttributeValues}, c)
	if err != nil {
		return nil, err
	}
	guarded := *in
	if guarded.UpdateExpression, err = g.mark.raise(in.UpdateExpression); err != nil {
		return nil, err
	}
	guarded.ConditionExpression, guarded.ExpressionAttributeNames, guarded.ExpressionAttributeValues = e.condition,
		e.names, e.values
	guarded.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	out, err := g.client.UpdateItem(ctx, &guarded, repeatThrottled)
	if err != nil {
		return nil, g.explain(ctx, c, err, place{table: in.TableName, key: in.Key})
	}
	return out, nil
}

// Raise raises the mark of an item, or makes an item of key and mark alone, and leaves all other attributes
// as they are. Errors are those of [Guard.Update].
func (g *Guard) Raise(ctx context.Context, c fence.Claim, table string, key map[string]types.AttributeValue) error {
	_, err := g.Update(ctx, c, &dynamodb.UpdateItemInput{TableName: &table, Key: key})
	return err
}

// Modify replaces an item by what f makes of it; old has the key alone if there was none. It raises the mark and reads
// in one step, before f, and then puts the item, so the late write of a holder that was paused in between is refused.
// One lock must protect the whole item, and calls under equal tokens must not overlap. The claim is checked twice, so
// [fence.Once] is [fence.ErrInvalid]. If f fails, the mark is raised, and the error is that of f. Other errors are
// those of [Guard.Update].
func (g *Guard) Modify(ctx context.Context, c fence.Claim, table string, key map[string]types.AttributeValue,
	f func(old map[string]types.AttributeValue) (map[string]types.AttributeValue, error)) error {
	if g.mark.rule == fence.Once {
		return fmt.Errorf(
			"%w: Modify checks a claim twice, and the rule is %v; use Update with a condition on what was read",
			fence.ErrInvalid, fence.Once)
	}
	read, err := g.Update(ctx, c, &dynamodb.UpdateItemInput{TableName: &table, Key: key,
		ReturnValues: types.ReturnValueAllNew})
	if err != nil {
		return err
	}
	delete(read.Attributes, g.mark.attribute)
	changed, err := f(read.Attributes)
	if err != nil {
		return err
	}
	item := maps.Clone(key) // f cannot choose another item
	for name, value := range changed {
		if _, ok := key[name]; !ok {
			item[name] = value
		}
	}
	_, err = g.Put(ctx, c, &dynamodb.PutItemInput{TableName: &table, Item: item})
	return err
}

// Put replaces an item, or makes it, as PutItem does; the new item has the raised mark. Errors are those of
// [Guard.Update].
func (g *Guard) Put(ctx context.Context, c fence.Claim, in *dynamodb.PutItemInput) (_ *dynamodb.PutItemOutput,
	err error) {
	defer g.mark.observer.Conclude(guardName, c, &err)
	if in == nil {
		return nil, errNoInput
	}
	e, err := g.mark.guard(expressions{in.ConditionExpression, in.ExpressionAttributeNames,
		in.ExpressionAttributeValues}, c)
	if err != nil {
		return nil, err
	}
	if _, ok := in.Item[g.mark.attribute]; ok {
		return nil, g.mark.taken()
	}
	guarded := *in
	guarded.Item = map[string]types.AttributeValue{g.mark.attribute: number(c.Token)}
	maps.Copy(guarded.Item, in.Item)
	guarded.ConditionExpression, guarded.ExpressionAttributeNames, guarded.ExpressionAttributeValues = e.condition,
		e.names, e.values
	guarded.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	out, err := g.client.PutItem(ctx, &guarded, repeatThrottled)
	if err != nil {
		return nil, g.explain(ctx, c, err, place{table: in.TableName, item: in.Item})
	}
	return out, nil
}

var errNoInput = fmt.Errorf("%w: the input is nil", fence.ErrInvalid)
