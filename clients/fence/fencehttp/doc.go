// Package fencehttp guards HTTP handlers: a request shows the claim of a lease in the headers
// Fencing-Token and Fencing-Resource, and the claim of an ended lease is refused before the handler runs.
//
// The answer to a refused request is a problem document (RFC 9457, application/problem+json), a
// [fence.Problem]: 409 Conflict for a stale token, with both tokens; 400 Bad Request for a malformed
// claim; 428 Precondition Required for a missing one; and 503 Service Unavailable with Retry-After if the
// marks did not answer.
//
// # Guarantee
//
// The high-water mark is raised, durably, before the handler runs: from then on, all servers that share
// the marks refuse lower tokens. Raising the mark and the work of the handler are two steps. A paused
// handler can still write late, and a middleware cannot prevent that. So the handler hands its claim,
// [fence.FromContext], to the guard of the store that it writes to. That guard gives the guarantee; this one
// only saves stale requests the way there. Marks of the same store will do; then a handler may read and write. A client
// that reads by GET and writes by a later request needs [WithGuardedReads], and shows its claim in both: otherwise the
// late write of an earlier holder comes between.
//
// # Requirements of the store
//
// Those of the guard that provides the marks. Under [fence.Once] the middleware spends the token, and the
// store's guard behind it needs [fence.Repeatable].
//
// # Errors
//
// [ResponseError] returns the error of an answer. After [fence.ErrUnknown], a 503 or no answer, the request
// may have taken effect. The guard lets the same request pass again.
//
// A client that repeats requests by itself may be refused although an earlier copy passed, whose answer
// was lost. Package net/http does so with an Idempotency-Key, and on GET, HEAD, OPTIONS and TRACE;
// [ResponseError] then returns [fence.ErrUnknown] and not [fence.ErrStale]. The guard does not limit a
// handler to one run for a key.
//
// # Not protected
//
// A token is no credential: a client with a high token shuts out all others. Put authentication in front.
// A client that chooses the resource in a header may choose an unrelated one; use [WithResource] where the
// request names the resource. GET, HEAD, OPTIONS and TRACE change nothing and pass without a claim.
package fencehttp
