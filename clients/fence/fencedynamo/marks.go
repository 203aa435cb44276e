package fencedynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
)

const (
	// keyResource is the key of a table of marks.
	keyResource = "resource"
	// maxActions is how many a transaction may have beside the guard's own: DynamoDB takes 100.
	maxActions = 99
)

// Marks keeps marks in a table of their own, one item for each resource, and guards transactions with
// them. It may be used concurrently.
type Marks struct {
	guard *Guard
	table string
}

var _ fence.Marks = (*Marks)(nil)

// MarksTable returns what makes a table of marks, for the client's CreateTable. It is billed by request;
// change that as you like, but not its key.
func MarksTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &name,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(keyResource), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(keyResource), KeyType: types.KeyTypeHash}},
		BillingMode: types.BillingModePayPerRequest,
	}
}

// NewMarks returns the marks of a table that [MarksTable] describes, and that holds nothing else. The
// error is [fence.ErrInvalid] if an argument breaks a rule.
func NewMarks(client Client, table string, opts ...Option) (*Marks, error) {
	g, err := New(client, opts...)
	if err != nil {
		return nil, err
	}
	if g.mark.attribute == keyResource {
		return nil, fmt.Errorf("%w: the attribute %q is the key of the table of marks; choose another one",
			fence.ErrInvalid, keyResource)
	}
	return &Marks{g, table}, nil
}

// Raise raises the mark of the claim's resource; see [fence.Marks].
func (m *Marks) Raise(ctx context.Context, c fence.Claim) error {
	return m.hint(m.guard.Raise(ctx, c, m.table, keyOf(c)))
}

// Transact does what the input says, as TransactWriteItems does, and raises the mark of the claim's
// resource, all of it or nothing. The input may have up to 99 actions, none of them on the table of
// marks, and each may have its own condition.
//
// The error is a [fence.StaleError] if the rule refuses the claim, also if another condition has failed as
// well, [fence.ErrInvalid] if the claim or the input breaks a rule, [fence.ErrMalformed] if the stored mark is not
// one, and [ErrConflict] after a conflict with another transaction. If a condition of the caller fails, it is
// DynamoDB's TransactionCanceledException: its reasons are those of the caller's actions, in order, and one
// for the mark. Nothing was written then. After [fence.ErrUnknown] all of it or nothing was written.
func (m *Marks) Transact(ctx context.Context, c fence.Claim,
	in *dynamodb.TransactWriteItemsInput) (_ *dynamodb.TransactWriteItemsOutput, err error) {
	defer m.guard.mark.observer.Conclude(guardName, c, &err)
	if in == nil {
		return nil, errNoInput
	}
	if err := m.admit(in.TransactItems); err != nil {
		return nil, err
	}
	raise, err := m.action(c)
	if err != nil {
		return nil, err
	}
	guarded := *in
	guarded.TransactItems = append(slices.Clone(in.TransactItems), raise)
	out, err := m.guard.client.TransactWriteItems(ctx, &guarded)
	if err != nil {
		return nil, m.explain(ctx, c, err, len(in.TransactItems))
	}
	return out, nil
}

// action raises the mark.
func (m *Marks) action(c fence.Claim) (types.TransactWriteItem, error) {
	e, err := m.guard.mark.guard(expressions{}, c)
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	update, err := m.guard.mark.raise(nil)
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &m.table, Key: keyOf(c), UpdateExpression: update,
		ConditionExpression: e.condition, ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, err
}

// admit checks that the caller's actions leave the marks alone, and room for one more.
func (m *Marks) admit(actions []types.TransactWriteItem) error {
	if len(actions) > maxActions {
		return fmt.Errorf("%w: a guarded transaction has at most %d actions, not %d; split it", fence.ErrInvalid,
			maxActions, len(actions))
	}
	for i, a := range actions {
		if name := tableOf(a); name == m.table || strings.HasSuffix(name, "/"+m.table) {
			return fmt.Errorf("%w: action %d is on the table of marks, which only the guard writes; use another table",
				fence.ErrInvalid, i)
		}
	}
	return nil
}

// tableOf returns the table of an action: its name, or an ARN that ends with it.
func tableOf(a types.TransactWriteItem) string {
	switch {
	case a.Put != nil:
		return aws.ToString(a.Put.TableName)
	case a.Update != nil:
		return aws.ToString(a.Update.TableName)
	case a.Delete != nil:
		return aws.ToString(a.Delete.TableName)
	case a.ConditionCheck != nil:
		return aws.ToString(a.ConditionCheck.TableName)
	}
	return ""
}

// explain gives the reason why a transaction with this number of actions, and the guard's, has failed.
func (m *Marks) explain(ctx context.Context, c fence.Claim, cause error, actions int) error {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](cause)
	if !ok || len(cancelled.CancellationReasons) != actions+1 {
		return m.hint(fmt.Errorf("resource %q: %w", c.Resource, unknown(cause)))
	}
	own := cancelled.CancellationReasons[actions]
	if aws.ToString(own.Code) == codeConditionFailed {
		return m.guard.judge(ctx, c, cause, own.Item, place{table: &m.table, key: keyOf(c)})
	}
	if slices.ContainsFunc(cancelled.CancellationReasons, isConflict) {
		cause = fmt.Errorf("%w: %w", ErrConflict, cause)
	}
	return fmt.Errorf("resource %q: %w", c.Resource, cause)
}

func isConflict(r types.CancellationReason) bool { return aws.ToString(r.Code) == codeConflict }

// hint says how to make the table of marks if a table is missing.
func (m *Marks) hint(err error) error {
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return fmt.Errorf(
			"%w; the table of marks is %q: create it once with CreateTable(ctx, fencedynamo.MarksTable(%[2]q))", err,
			m.table)
	}
	return err
}

// keyOf returns where the mark of the claim's resource stands: DynamoDB compares keys byte by byte.
func keyOf(c fence.Claim) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{keyResource: &types.AttributeValueMemberS{Value: c.Resource}}
}
