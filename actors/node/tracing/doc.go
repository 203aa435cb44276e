// Package tracing notes in the traces of requests what shards have done with them: when a request was looked at, for
// whose leases it waited, and when its answer was decided and confirmed. A shard knows nothing of traces. It shows its
// decisions to [Holders], and its answers have the rest.
package tracing
