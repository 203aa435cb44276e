// Package fencedynamo guards items of Amazon DynamoDB: a write shows the claim of a lease, and is refused
// if the time of that lease has passed.
//
// The check becomes part of the caller's own write, as one more condition that DynamoDB checks in the
// same step: what the caller's input says stays as it is, its own condition included, and the input is
// not changed. There are two forms.
//
// A [Guard] keeps the mark in the item that is written, as a number in an attribute of its own. It costs
// nothing more than the write. Each item has its own mark: an item refuses token 33 once it has itself
// seen 34, not when another item has. So it suits a lock that protects one item.
//
// [Marks] keeps the mark of each resource in a table of its own, and raises it in one transaction with
// whatever the caller writes: several items, several tables, deletions. It suits a lock that protects
// more than one item. A transaction costs about twice the write units.
//
// Do not use both for the same resource; neither sees the marks of the other.
//
// # What is atomic
//
// Check, raising and write are one UpdateItem, PutItem or TransactWriteItems: all of it happens or none,
// whatever crashes meanwhile. When the call returns, all of it is as durable as DynamoDB is.
// Conditions are always checked against the newest state; reads by anyone else should be consistent ones.
//
// A refused write is a [fence.StaleError], with both tokens. The higher one comes with DynamoDB's
// refusal. If no item comes with it, because there is none or because the store does not show it, the
// guard reads consistently, and after a put it must describe the table for that; so allow
// dynamodb:GetItem and dynamodb:DescribeTable. If the caller's own condition has failed as well, the error
// is the stale token; if it alone has failed, the error is DynamoDB's, as without a guard.
//
// # What is unknown
//
// After [fence.ErrUnknown], such as a timeout, the write may have happened; with any other error it did
// not. Repeating it with the same
// claim is safe under [fence.Repeatable] as far as the write itself may be repeated: SET may, ADD may
// not. Under [fence.Once] the repetition is refused as spent if the first try had succeeded. The SDK
// repeats writes on its own, after which no refusal would be certain; so a guard lets it repeat only what
// DynamoDB has throttled. A transaction may always be repeated by the SDK: DynamoDB knows it again by its
// request token, for ten minutes.
//
// # What it does not protect
//
// Whoever writes past the guard is not refused: plain PutItem drops the mark with the old item,
// BatchWriteItem and the DeleteItem of an item with its own mark do so too, and so does a time to live. There is
// therefore no Delete: delete in a transaction of [Marks], or let the item stand and remove its
// attributes with [Guard.Update]. Restoring a backup brings the marks of that day back.
//
// Global tables replicate between Regions after the fact, and the last writer wins over marks too,
// except with multi-Region strong consistency, which in turn has no transactions. Keep the writers of an
// item in one Region.
//
// A stored mark that is no token is [fence.ErrMalformed], and stays. Only a fraction between 1 and the token
// cannot be told from one by DynamoDB's conditions, and is replaced.
package fencedynamo
