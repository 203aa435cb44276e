// Package fenceredis guards the keys of a Redis or Valkey: a write whose fencing token is lower than the
// highest seen for its resource is refused, by the server. It asks nothing of it that Redis 6.2 has not;
// its tests run Redis 7.
//
// # What is guaranteed
//
// Check, raising the mark and the write are one script on the server, and a server runs one script at
// a time: nobody sees a state in between, and no write comes between. The order inside is check, mark,
// write. Redis does not roll a script back, so if the write itself fails (a hash where a string was
// expected, a script of the caller's own that stops half-way) the mark stays raised, under [fence.Once]
// the token is spent, and what the script had written until then stays written. That is safe: the
// token was granted, and whoever holds a lower one has lost the lock. The other order would not be.
//
// The mark of a resource is a key of its own with 15 digits, below a prefix (holdfast:mark:) that is
// refused as a key of the caller's, so no write through a guard reaches a mark, except by a script that
// makes up key names, which Redis forbids and does not prevent. A rule for the users of the server keeps
// all others away: ACL SETUSER other ~orders:*. The guard's own user needs ~holdfast:mark:* beside its
// keys. A mark that is not a token is [fence.ErrMalformed], and nothing is written.
//
// # What the server must be set to
//
//   - appendonly yes and appendfsync always. With everysec, a crash forgets the last second, marks and
//     data alike: a holder that had been refused may then get in. A script is in the log whole or not at
//     all.
//   - maxmemory-policy noeviction. The allkeys ones drop marks while their data lives on, and the volatile
//     ones what is known of the last minute's writes.
//   - One primary. Replication is asynchronous: a failover may lose the newest marks with the newest
//     writes, and a holder that had been refused may then get in. WAIT and min-replicas-to-write make that
//     rarer, not impossible. Who cannot live with it keeps the data in a store with consensus.
//
// FLUSHALL, FLUSHDB, SWAPDB, an older backup and a DEL of the mark let lower tokens in again; stop the
// holders first. Marks are kept for each numbered database apart: guard and data use the same one. Marks
// are never removed, not even when the data expires; one takes about 100 bytes and its resource's name.
//
// # In a cluster
//
// A script can only touch keys of one hash slot. The mark stands in the slot of the key that is named like
// its resource, so that key, and keys with the hash tag of [Tag], work: resource orders.42, keys orders.42
// and {orders.42}:items. A key in another slot is refused as [fence.ErrInvalid], and nothing is
// written. While a slot moves between nodes, the server may answer TRYAGAIN; nothing is written then.
//
// # Repetitions by the driver
//
// Some drivers send a command again when its answer is lost: go-redis up to three times, unless MaxRetries
// is -1. Each write has a random number, which the server keeps for a minute, in a key of its own beside the
// mark and with the result: it makes the write once, and answers a repetition as it has answered the
// first. So [fence.ErrStale] is certain, whatever came in between, and a write that returns nil was
// made once. A reply that took a minute or longer is not trusted: it is [fence.ErrUnknown]. Results that are
// nested more than 16 deep are cut off in a repetition. The server's clock should not be set forward
// by more than that. A write takes some 200 bytes on the server for that minute, and its result.
//
// # What stays open
//
// After an error of the network, [fence.ErrUnknown], it is unknown whether the write was made. A second
// call is another write, with a number of its own. It is safe under [fence.Repeatable] as far as the
// write itself bears repeating, which [Guard.Set], [Guard.HSet] and [Guard.Del] do; under [fence.Once]
// it is [fence.ErrSpent] if the first one arrived. A request that was given up may still be on its way:
// one holder's writes can overtake each other, since their tokens are equal.
//
// Not protected: writes past the guard, reads, replicas, and everything that is not in this server.
//
// # Drivers
//
// Any driver serves, through a function:
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
