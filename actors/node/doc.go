// Package node is one lock node: it takes requests from NATS to the shards of package actors, and
// their answers back.
//
// Requests come in by two doors. At the front door, holdfast.acquire.<key> and its like, the nodes
// stand as one NATS service, so that any of them takes a request; at the direct door,
// holdfast.shard.<n>.>, stands the node that owns the shard. A request that breaks a rule of the
// contract is answered here, and goes no further. An answer goes only to an inbox: a request that
// wants it elsewhere is dropped, because the node may write where its clients may not.
package node
