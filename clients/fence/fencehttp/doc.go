// Package fencehttp guards HTTP handlers: a request shows the claim of a lease in the headers
// Fencing-Token and Fencing-Resource, and one whose time has passed is refused before its handler is
// called.
//
// What is refused is answered with a problem document (RFC 9457, application/problem+json), a
// [fence.Problem]: 409 Conflict for a stale token, with both tokens; 400 Bad Request for a malformed
// claim; 428 Precondition Required for none, so that a client that forgot to lock can be told from one
// that sent nonsense; and 503 Service Unavailable with Retry-After if the marks could not be asked.
//
// # What is atomic
//
// The mark is raised, durably, before the handler begins: a token that is lower than that of a request
// which has reached its handler is refused from then on, on every server that shares the marks. Raising
// and what the handler does are two steps. A handler that is paused in between can still write late, and
// no middleware can prevent that. So let the handler pass the claim on, [fence.FromContext], to the
// guard of the store in which it writes; then the middleware spares stale requests the way there, and
// the store's guard gives the guarantee. Marks of the same store will do. Under [fence.Once] the
// middleware spends the token, and the store's guard behind it needs [fence.Repeatable].
//
// After a 503, or no answer, it is unknown whether the request took effect. The same request may be
// repeated as far as the guard is concerned.
//
// A client that repeats requests by itself may be refused although an earlier copy passed, whose answer
// was lost. Package net/http does so with an Idempotency-Key, and on GET, HEAD, OPTIONS and TRACE;
// [ResponseError] then says that the outcome is unknown. The guard does not make a handler run only once
// for a key.
//
// # What it does not protect
//
// A token is no credential: whoever sends a high one shuts out all others. Put authentication in front.
// A client that may choose the resource in a header may choose one that has nothing to do with what it
// changes; use [WithResource] where the request itself says what that is. GET, HEAD, OPTIONS and TRACE
// change nothing and pass without a claim.
package fencehttp
