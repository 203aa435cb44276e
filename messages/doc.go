// Package messages holds the words that clients and nodes share: resources and their keys, subjects,
// tokens, limits and the protobuf messages of docs/wire.md. It guarantees
// that a resource has exactly one key, that a request that passes [Limits.Check] breaks no rule of the
// contract, and that every refusal names the field and the rule. It refuses to guess: what is not
// exactly right is an error, never repaired. It does no input or output and keeps no state; it imports
// nothing of ours, and of others' only protobuf and the tables of Unicode.
package messages
