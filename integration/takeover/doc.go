// Package takeover lets several lock nodes take the same shards from one another at random moments, as
// if none of them knew who owns what, on three NATS servers whose leaders step down and which are frozen,
// stopped, killed and started again. All else rests on what must hold then: the append is the only
// proof of ownership.
//
// Afterwards the journals are read whole, and package linear checks them together with every answer that left a
// node. Requests are sent once and never repeated, so that each answer says what became of its request.
package takeover
