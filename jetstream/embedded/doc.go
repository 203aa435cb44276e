// Package embedded runs a NATS server with JetStream in this process. No other package knows the code of the
// NATS server.
//
// [Start] starts a [Server], alone or as a member of a cluster. The server syncs every write, owns its data
// directory exclusively, and restarts NATS after a write error as soon as the disk takes data again; see
// [Server.Fault]. An [Observer] joins a cluster without storage, to ask about its members.
package embedded
