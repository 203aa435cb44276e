// Package nodes tests several lock nodes that share the shards of one deployment, on a real NATS server.
package nodes
