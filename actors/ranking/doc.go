// Package ranking sorts what a listing by a [messages.Ranking] has, in the same way at the owners of shards, which
// select the first entries, and at the node that merges them.
package ranking
