// Package fenceetcd guards keys of etcd: a write whose fencing token is lower than the highest seen for
// its resource is refused, by the server. It imports the client of etcd, go.etcd.io/etcd/client/v3, and is
// a module of its own for that.
//
// # What is guaranteed
//
// Check, raising the mark and the caller's operations are one transaction of etcd: it is applied whole
// or not at all, in one revision, and is on the disks of a majority when it is confirmed. It is
// linearizable: a claim that begins after a higher one was accepted is refused, whichever member is
// asked. A crash or a new leader loses nothing that was confirmed. Nothing in etcd has to be set for it;
// a member run with unsafe-no-fsync guarantees nothing.
//
// The mark of a resource is a key with 15 digits, below a prefix (holdfast/marks/). Operations of the
// caller's that touch this prefix are refused as [fence.ErrInvalid], also ranges that cover it, so no
// write through a guard reaches a mark. A role without permission on the prefix keeps all others away, on
// servers that look into nested transactions (older ones do not: GHSA-rfx7-8w68-q57q); the guard's own
// user may read and write there, and its keys. Marks have no lease and are not removed: data that expires
// or is deleted leaves its mark. A mark that is not a token is [fence.ErrMalformed].
//
// # One round trip
//
// Tokens as 15 digits sort as bytes like numbers, so etcd itself can compare them, and nothing has to
// be read first and nothing tried again. It is asked whether the mark is higher, not whether it is lower
// or equal: a comparison with a key that does not exist is false, so a first token passes by the same
// question. In the words of etcdctl txn, for token 34:
//
//	value("holdfast/marks/account.7") > "000000000000034"
//
//	get holdfast/marks/account.7
//
//	txn: value("holdfast/marks/account.7") < "000000000000001", get holdfast/marks/account.7,
//	  else txn: the caller's comparisons, the caller's operations, put holdfast/marks/account.7 000000000000034
//
// The transactions inside count: where etcd allows 128 operations (max-txn-ops), a caller has 125.
//
// # What stays open
//
// After an error of the network or of the context, [fence.ErrUnknown], it is unknown whether the
// transaction was made. The client does not repeat it by itself once it may have reached a server: so
// [fence.ErrStale] is certain. Repeating it with the same claim is safe under
// [fence.Repeatable] as far as the operations bear repeating, as puts and deletes do; under [fence.Once]
// the repeat is [fence.ErrSpent] if the first one was made. A request that was given up may still be on its
// way: one holder's writes can overtake each other, since their tokens are equal. Comparisons of
// the caller's prevent that.
//
// Not protected: writes past the guard, reads, and other clusters. A restored backup has old marks with
// its old data, and lets tokens in that had been refused; stop the holders first.
package fenceetcd
