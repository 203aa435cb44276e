// Package takeover lets several lock nodes take the same shards from one another at random moments, as
// if none of them knew who owns what, on three NATS servers whose leaders step down and which are frozen,
// stopped, killed and started again. All else rests on what must hold then: the append is the only
// proof of ownership.
//
// Afterwards the journals are read whole and held against every answer that left a node. The two must
// tell one story: numbers and epochs without a break, no record of a deposed writer behind the one that
// deposed it, tokens that grow by one, and for each change the one request that asked for it, for each
// answer the change that bears it out.
package takeover
