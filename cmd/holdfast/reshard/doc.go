// Package reshard gives a running deployment another number of shards.
//
// A [Run] coordinates a change to a new generation of shards: it copies all resources into new journals, lets the owners
// close the present ones, copies what has changed since, and has the register say that the new generation is in use.
// The nodes follow the register. If the coordinator fails or dies before that last step, they go on with the present
// generation: whoever writes the register first decides.
package reshard
