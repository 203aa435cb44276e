package fencehttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// maxProblemBytes is far above a problem with the longest resource, each character of it escaped.
const maxProblemBytes = 16 << 10

// retryAfter is what a client waits, in seconds, when the marks could not be asked.
const retryAfter = "1"

// Error answers with the problem that err is to a client, see [fence.NewProblem]. It is for handlers,
// too, whose store refuses the claim that they pass on. The caller writes nothing else.
func Error(w http.ResponseWriter, err error) {
	p := fence.NewProblem(err)
	body, _ := json.Marshal(p) // strings and a number: it cannot fail
	w.Header().Set("Content-Type", fence.ProblemType)
	w.Header().Set("Cache-Control", "no-store")
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// ResponseError returns the error that an answer stands for, as it was on the server: a
// [fence.StaleError] for a stale token. It is nil if the answer is not a problem document, and reads
// nothing then; otherwise it reads the body, which the caller has to close all the same.
//
// The refusal of a request that package net/http may have sent before is [fence.ErrUnknown], and not
// [fence.ErrStale]: an earlier copy, whose answer was lost, may have passed. These are requests with an
// Idempotency-Key, and GET, HEAD, OPTIONS and TRACE. [errors.As] finds the StaleError in either case; the
// lock is lost in either case.
func ResponseError(r *http.Response) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != fence.ProblemType {
		return nil
	}
	var p fence.Problem
	if err := json.NewDecoder(io.LimitReader(r.Body, maxProblemBytes)).Decode(&p); err != nil {
		return fmt.Errorf("%s: its problem document cannot be read: %w", r.Status, err)
	}
	refusal, stale := errors.AsType[*fence.StaleError](p.Err())
	if stale && r.Request != nil && isRepeatable(r.Request) {
		return &repeatedError{refusal}
	}
	return p.Err()
}

// isRepeatable reports whether net/http sends the request again by itself when a connection breaks.
func isRepeatable(r *http.Request) bool {
	_, key := r.Header["Idempotency-Key"]
	_, other := r.Header["X-Idempotency-Key"]
	return key || other || r.Method == "" || isSafe(r.Method) // mutant: RefusalBelieved
}

// repeatedError is the refusal of a request of which there may have been an earlier copy.
type repeatedError struct{ refusal *fence.StaleError }

// Error names both.
func (e *repeatedError) Error() string {
	return fmt.Sprintf("%v: an earlier copy of the request may have passed; this one was refused: %v", fence.ErrUnknown,
		e.refusal)
}

// Is reports whether target is [fence.ErrUnknown].
func (e *repeatedError) Is(target error) bool { return target == fence.ErrUnknown }

// As finds the refusal. Unwrap would make the error one that is [fence.ErrStale].
func (e *repeatedError) As(target any) bool {
	stale, ok := target.(**fence.StaleError)
	if ok {
		*stale = e.refusal
	}
	return ok
}
