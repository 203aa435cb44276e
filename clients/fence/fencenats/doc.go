// Package fencenats guards handlers of NATS requests, endpoints of package micro and plain subscriptions: a
// message shows the claim of a lease in the headers Fencing-Token and Fencing-Resource, and the claim
// of an ended lease is refused before the handler runs.
//
// The answer to a refused message has the headers of services, Nats-Service-Error and
// Nats-Service-Error-Code, and a problem document (RFC 9457, application/problem+json), a
// [fence.Problem]: 409 for a stale token, with both tokens; 400 for a malformed claim; 428 for a missing
// one; and 503 if the marks did not answer. A message without a reply subject, or with one below $, where
// JetStream listens, is dropped without an answer; [OnRefused] reports it.
//
// # Guarantee
//
// The high-water mark is raised, durably, before the handler runs: from then on, all subscribers that
// share the marks refuse lower tokens. Raising the mark and the work of the handler are two steps. A paused
// handler can still write late. So the handler hands its claim, [fence.FromContext], to the guard of
// the store that it writes to. That guard gives the guarantee; this one only saves stale messages the way
// there. Marks of the same store will do.
//
// # Requirements of the store
//
// Those of the guard that provides the marks. Under [fence.Once] this guard spends the token, and the
// store's guard behind it needs [fence.Repeatable].
//
// # Errors
//
// [ResponseError] returns the error of an answer. [fence.ErrStale] is certain, because NATS and nats.go
// repeat no message by themselves; a JetStream consumer that delivers a message again is the exception. After
// [fence.ErrUnknown], a 503 or no answer, the message may have taken effect. The guard lets the same message
// pass again.
//
// # Not protected
//
// A token is no credential: a sender of a high token shuts out all others, so restrict the permission to
// publish to the subject. A client that chooses the resource in a header may choose an unrelated one; use
// [WithResource] where the subject names the resource.
package fencenats
