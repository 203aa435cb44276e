// Package fence is the resource's side of a lock: it refuses a write of a holder whose lease has ended.
//
// A lease can end without notice to its holder: the process was paused, swapped out or cut off. Its next
// write then follows the writes of the next holder. A lock service cannot prevent that. The resource can,
// by the fencing token that every grant carries. The rule is the same for every store. The store keeps a
// high-water mark, or mark for short: the highest token that it has accepted. A lower token is refused with
// [ErrStale]. An equal token passes, because a holder writes more than once. A higher token passes and raises
// the mark. Check, raise and write are one atomic step: a pause between a check and a later write would
// let a stale write in.
//
// The store must see the token before its holder reads what it will change. Otherwise the late write of an earlier
// holder comes between, and one of two acknowledged changes is lost. Guards have Modify, which reads and writes in one
// step, or Do with a transaction; otherwise call Raise before the first read.
//
// This package has the [Rule], the errors of all guards, and the interface [Marks]. [Problem] describes a
// refusal to a client of HTTP or NATS. [NewContext] hands a claim on. The packages below are the guards,
// one for each kind of store. A guard whose code or tests need a driver is a module of its own, so that an
// application inherits only the driver that it uses. Package fencetest is the suite that every guard passes;
// a new guard passes it too.
//
// Leases are of Gray and Cheriton (Leases, 1989). The token is the sequencer of Burrows (The Chubby lock
// service, 2006, section 2.4).
package fence
