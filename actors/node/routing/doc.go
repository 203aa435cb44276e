// Package routing takes each request to the owner of its shard: to the shard if this node has it open, to the
// process that owns it, or, while no owner is known, into a bounded queue until one is. It decides; a [Transport]
// carries out.
package routing
