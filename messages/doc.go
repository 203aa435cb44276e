// Package messages is the wire contract of docs/wire.md in Go: protobuf messages, resources and their
// keys, subjects, tokens, limits and errors.
//
// Each resource has exactly one key. A request that passes [Limits.Check] breaks no rule of the
// contract. Each [InvalidError] names the field and the rule. Malformed input is an error and is never
// repaired. The package does no I/O and keeps no state; it imports protobuf and the Unicode tables.
package messages
