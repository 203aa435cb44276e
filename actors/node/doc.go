// Package node is one lock node: it takes requests from NATS to the shards of package actors, and their answers back.
//
// Requests arrive at two kinds of endpoints. At holdfast.acquire.<key> and its like all nodes are one queue group, so
// any of them takes a request and routes it; at holdfast.shard.<n>.> only the node that owns the shard subscribes. A
// request that breaks a rule of the contract is answered here, and goes no further. An answer goes only to an inbox:
// a request that wants it elsewhere is dropped, because the node may publish where its clients may not.
package node
