// Package actors runs the resources of a lock node: one actor for each shard that the node owns,
// and below it one for each resource in use.
//
// A request goes to its resource's actor, which decides at once and in memory. The shard collects
// the decisions of all its resources, appends them to its journal as one commit, and lets their
// answers leave when the journal has confirmed it: no answer, be it a refusal or a read, leaves
// before it is certain that this node still owned the shard when it decided.
//
// The package knows neither NATS nor JetStream. What it needs of the world it asks for in four
// ports: [Journal], [Clock], [Outbox] and [Publisher].
package actors
