// Package watch reads the journals of shards for [holdfast.Client.Watch]: all commits of a shard in their
// order, each once, from a [Position] on, and the leases that are held at one.
//
// A [Reader] asks JetStream about one journal until it answers. A consumer brings records, and is replaced
// whenever it does not bring the next one: the numbers of the commits decide, not the consumer. A [Loop]
// merges the journals of all shards.
//
// [holdfast.Client.Watch]: https://pkg.go.dev/github.com/holdfast-io/holdfast/clients/holdfast#Client.Watch
package watch
