// Package actors runs the resources of a lock node: one actor for each shard that the node owns,
// and below it one for each resource in use.
//
// A request goes to its resource's actor, which decides at once and in memory. The shard collects
// the decisions of all its resources, appends them to its journal as one commit, and lets their
// answers leave when the journal has confirmed it: no answer, be it a refusal or a read, leaves
// before it is certain that this node still owned the shard when it decided.
//
// The package knows neither NATS nor JetStream. Seven ports lead out of it: [Journal], [Clock], [Outbox], [Prober],
// [Publisher], [Observer] and [Witness].
//
// # Proto.Actor
//
// The library gives three things: an actor handles one message at a time; an actor that panics is restarted by its
// supervisor, while the others go on; and actors start and stop as children of their shard. Three of its parts are
// replaced here, and nothing else of it is used (docs/decisions/actors.md):
//
//   - The mailbox of a resource, by inbox: a resource runs on the goroutine of its shard, inside the sending, so that a
//     request wakes one goroutine less and no message has to bring the decision back. A shard keeps the mailbox of the
//     library.
//   - The dispatcher of a shard, by dispatcher: the library starts a goroutine whenever a mailbox was empty, and each
//     of them grows its stack anew. Here one goroutine runs the shard from its start to its end.
//   - The logger, by quiet: the library logs dead letters with their payload at Info.
package actors
