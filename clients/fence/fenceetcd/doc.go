// Package fenceetcd guards keys of etcd: the server refuses a write whose fencing token is lower than the
// highest seen for its resource. It imports the client of etcd, go.etcd.io/etcd/client/v3, and is a module of
// its own for that.
//
// # Guarantee
//
// Check, raising the mark and the caller's operations are one transaction of etcd, which is applied whole
// or not at all, in one revision, and is on the disks of a majority when it is confirmed. It is
// linearizable: a claim that begins after a higher one was accepted is refused by every member. A crash or a
// new leader loses nothing that was confirmed.
//
// The high-water mark of a resource is a key with 15 digits, below a prefix (holdfast/marks/). Operations of
// the caller on this prefix, also ranges that cover it, are [fence.ErrInvalid]. Marks have no lease and are
// not removed: data that expires or is deleted leaves its mark.
//
// # Requirements of the store
//
// None, except that a member with unsafe-no-fsync guarantees nothing. A role without permission on the
// prefix protects the marks from other users, on servers that check nested transactions (older ones do not:
// GHSA-rfx7-8w68-q57q). The guard's own user may read and write there. Where etcd allows 128
// operations in a transaction (max-txn-ops), a caller has 125.
//
// # Errors
//
// [fence.ErrStale] is certain: the client repeats no transaction that may have reached a server. After an
// error of the network or the context, [fence.ErrUnknown], the transaction may have been made. Repeating
// it with the same claim is safe under [fence.Repeatable] as far as the operations may be repeated, as puts
// and deletes may; under [fence.Once] the repetition is [fence.ErrSpent] if the first one was made. An
// abandoned request may still arrive: writes of one holder can overtake each other, since their tokens are
// equal. The caller's own comparisons prevent that.
//
// # One round trip
//
// Tokens of 15 digits sort as bytes like numbers, so that etcd itself compares them, without a read first and
// without retries. The comparison is whether the mark is higher: it is false for a key that does not
// exist, so that a first token passes. In the words of etcdctl txn, for token 34:
//
//	value("holdfast/marks/account.7") > "000000000000034"
//
//	get holdfast/marks/account.7
//
//	txn: value("holdfast/marks/account.7") < "000000000000001", get holdfast/marks/account.7,
//	  else txn: the caller's comparisons, the caller's operations, put holdfast/marks/account.7 000000000000034
//
// # Not protected
//
// Writes without the guard, reads, and other clusters. A restored backup has old marks with its old data,
// and accepts tokens that had been refused; stop the holders first.
package fenceetcd
