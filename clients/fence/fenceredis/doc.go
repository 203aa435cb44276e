// Package fenceredis guards the keys of a Redis or Valkey: the server refuses a write whose fencing token
// is lower than the highest seen for its resource. It needs Redis 6.2; its tests run Redis 7.
//
// # Guarantee
//
// Check, raising the mark and the write are one script, and a server runs one script at a time: no client
// sees a state in between, and no write comes between. The order is check, mark, write. Redis does not roll a
// script back: if the write fails (a hash in place of a string, a script of the caller that stops half-way),
// the mark stays raised, under [fence.Once] the token is spent, and earlier writes of the script stay.
// That is safe: the token was granted, and the holder of a lower one has lost the lock. The other order would
// not be safe.
//
// The high-water mark of a resource is a key with 15 digits, below a prefix (holdfast:mark:) that is refused
// as a key of the caller. A write through a guard does not reach a mark, except by a script that makes up
// key names, which Redis forbids and does not prevent.
//
// # Requirements of the store
//
//   - appendonly yes and appendfsync always. With everysec, a crash loses the last second of marks and
//     data: a holder that had been refused may then pass. A script is in the log whole or not at all.
//   - maxmemory-policy noeviction. The allkeys policies drop marks while their data remains, and the volatile
//     ones drop the results of the last minute's writes.
//   - One primary. Replication is asynchronous: a failover may lose the newest marks with the newest
//     writes, and a holder that had been refused may then pass. WAIT and min-replicas-to-write make that
//     rarer, not impossible. Where that is unacceptable, keep the data in a store with consensus.
//   - A rule for other users that excludes the marks: ACL SETUSER other ~orders:*. The guard's own user
//     needs ~holdfast:mark:* beside its keys.
//
// FLUSHALL, FLUSHDB, SWAPDB, an older backup and a DEL of the mark let lower tokens in again; stop the
// holders first. Each numbered database has its own marks: guard and data use the same one. Marks are
// never removed, also when the data expires; one takes about 100 bytes and its resource's name.
//
// # Errors
//
// [fence.ErrStale] is certain. After an error of the network, [fence.ErrUnknown], the write may have been
// made. A second call is another write. It is safe under [fence.Repeatable] as far as the write itself may
// be repeated, as [Guard.Set], [Guard.HSet] and [Guard.Del] may; under [fence.Once] it is [fence.ErrSpent]
// if the first one arrived. An abandoned request may still arrive: writes of one holder can overtake each
// other, since their tokens are equal.
//
// # In a cluster
//
// A script can only touch keys of one hash slot. The mark is in the slot of the key that is named like its
// resource. That key, and keys with the hash tag of [Tag], are in the same slot: resource orders.42, keys
// orders.42 and {orders.42}:items. A key in another slot is [fence.ErrInvalid]. While a slot moves between
// nodes, the server may answer TRYAGAIN. Nothing is written in either case.
//
// # Repetitions by the driver
//
// Some drivers send a command again when its answer is lost: go-redis up to three times, unless MaxRetries
// is -1. Each write has a random number. The server keeps the number with the result of the write for a
// minute, in a key beside the mark, which takes some 200 bytes and the result. It makes the write once and
// answers a repetition with the first result. So a write that returns nil was made once. A reply
// that takes a minute or longer is [fence.ErrUnknown]; the server's clock must not be set forward by more than
// that. Results that are nested more than 16 deep are cut off in a repetition.
//
// # Not protected
//
// Writes without the guard, reads, replicas, and other servers.
//
// # Drivers
//
// Any driver will do, through a function:
//
//	// github.com/redis/go-redis, with clients of one server, of Sentinel or of a cluster
//	func(ctx context.Context, args ...any) (any, error) { return rdb.Do(ctx, args...).Result() }
//
//	// github.com/redis/rueidis; all args are strings
//	func(ctx context.Context, args ...any) (any, error) {
//		cmd := client.B().Arbitrary()
//		for _, a := range args {
//			cmd = cmd.Args(a.(string))
//		}
//		return client.Do(ctx, cmd.Build()).ToAny()
//	}
//
//	// github.com/gomodule/redigo
//	func(ctx context.Context, args ...any) (any, error) {
//		conn, err := pool.GetContext(ctx)
//		if err != nil {
//			return nil, err
//		}
//		defer conn.Close()
//		return redis.DoContext(conn, ctx, args[0].(string), args[1:]...)
//	}
package fenceredis
