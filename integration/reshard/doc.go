// Package reshard has tests that give a running deployment another number of shards: nodes in the process of the test, on
// a server of NATS of their own, under the load of plain clients.
package reshard
