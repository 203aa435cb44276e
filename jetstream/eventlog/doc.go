// Package eventlog stores the events of a deployment in a stream, for as long as an operator configures.
//
// [Open] opens the stream or creates it, and refuses one whose settings break a promise. [Stream.Publish]
// stores events of a shard exactly once, also if several nodes publish for the shard at the same time.
package eventlog
