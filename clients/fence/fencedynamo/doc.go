// Package fencedynamo guards items of Amazon DynamoDB: a write shows the claim of a lease, and the claim of
// an ended lease is refused.
//
// The check is one more condition of the caller's own write. The caller's input is not changed, and its own
// condition stays. There are two forms.
//
// A [Guard] keeps the high-water mark in the item that is written, as a number in an attribute of its own.
// It costs nothing more than the write. Each item has its own mark: it refuses token 33 once it has itself
// seen 34, not when another item has. It suits a lock that protects one item.
//
// [Guard.Modify] reads, changes and writes an item. Otherwise raise the mark before the first consistent read.
//
// [Marks] keeps the mark of each resource in a table of its own, and raises it in one transaction with the
// caller's writes: several items, several tables, deletions. It suits a lock that protects more than one
// item. A transaction costs about twice the write units.
//
// Use one form for a resource: neither sees the marks of the other.
//
// # Guarantee
//
// Check, raise and write are one UpdateItem, PutItem or TransactWriteItems: all of it happens or none. When
// the call returns, all of it is as durable as DynamoDB is. Conditions are always checked against the newest
// state; other readers should read consistently.
//
// # Requirements of the store
//
// The guard needs dynamodb:GetItem and dynamodb:DescribeTable beside the rights to write: when DynamoDB refuses
// a condition without showing the item, the guard reads the mark, after a put with the key from the table's
// description. Keep the writers of an item in one Region: global tables replicate afterwards, and their last
// writer wins over marks too, except with multi-Region strong consistency, which has no transactions.
//
// # Errors
//
// After [fence.ErrStale] nothing was written, also if the caller's own condition failed as well. If only that
// failed, the error is DynamoDB's, as without a guard. After [fence.ErrUnknown], such as a timeout, the write
// may have happened; after any other error it did not. Repeating it with the same claim is safe under
// [fence.Repeatable] as far as the write itself may be repeated: SET may, ADD may not. Under [fence.Once] the
// repetition is [fence.ErrSpent] if the first try succeeded. The SDK repeats writes by itself, which would make
// a refusal uncertain; the guard lets it repeat only throttled writes, and transactions, which DynamoDB
// recognises for ten minutes by their request token.
//
// A stored mark that is not a token is [fence.ErrMalformed] and stays. The exception is a fraction between 1
// and the token, which DynamoDB's conditions cannot distinguish from a token: it is replaced.
//
// # Not protected
//
// A write without the guard is not refused: a plain PutItem drops the mark with the old item; so do
// BatchWriteItem, DeleteItem of an item with its own mark, and a time to live. So a Guard has no Delete:
// delete in a transaction of [Marks], or remove the attributes with [Guard.Update]. A restored backup has
// old marks.
package fencedynamo
