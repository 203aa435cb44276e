// Package fencenats guards what answers NATS requests, endpoints of package micro and plain
// subscriptions: a message shows the claim of a lease in the headers Fencing-Token and
// Fencing-Resource, and one whose time has passed is refused before its handler is called.
//
// What is refused is answered as services do, with the headers Nats-Service-Error and
// Nats-Service-Error-Code, and with a problem document (RFC 9457, application/problem+json), a
// [fence.Problem]: 409 for a stale token, with both tokens; 400 for a malformed claim; 428 for none, so
// that a client that forgot to lock can be told from one that sent nonsense; and 503 if the marks could
// not be asked. A message without a reply subject, or with one below $, where JetStream listens, is
// dropped without an answer; [OnRefused] learns of it.
//
// # What is atomic
//
// The mark is raised, durably, before the handler begins: a token that is lower than that of a message
// which has reached its handler is refused from then on, by every subscriber that shares the marks.
// Raising and what the handler does are two steps. A handler that is paused in between can still write
// late. So let the handler pass the claim on, [fence.FromContext], to the guard of the store in which it
// writes; then this one spares stale messages the way there, and the store's guard gives the guarantee.
// Marks of the same store will do. Under [fence.Once] this guard spends the token, and the store's guard
// behind it needs [fence.Repeatable].
//
// After a 503, or no answer, it is unknown whether the message took effect. The same message may be sent
// again as far as the guard is concerned. NATS and nats.go send nothing twice by themselves: so
// [fence.ErrStale] is certain, except for messages that a JetStream consumer delivers again.
//
// # What it does not protect
//
// A token is no credential: whoever sends a high one shuts out all others, so let only those publish to
// the subject who may. A client that may choose the resource in a header may choose one that has nothing
// to do with what it changes; use [WithResource] where the subject says what that is, and NATS
// permissions say who may publish there.
package fencenats
