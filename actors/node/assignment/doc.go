// Package assignment decides which shards a node tries to own. The nodes of a deployment announce themselves to one
// another; a rule that all of them share assigns each shard to one of those that announce themselves; and a
// [Controller] opens shards that are assigned to its node and hands over those that are not.
//
// It decides only which node tries: the journal proves which one owns a shard. If nodes disagree, a shard moves
// without need, and no lock is granted twice.
package assignment
