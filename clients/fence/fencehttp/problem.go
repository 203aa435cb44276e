package fencehttp

import (
	"encoding/json"
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
func ResponseError(r *http.Response) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != fence.ProblemType {
		return nil
	}
	var p fence.Problem
	if err := json.NewDecoder(io.LimitReader(r.Body, maxProblemBytes)).Decode(&p); err != nil {
		return fmt.Errorf("%s: its problem document cannot be read: %w", r.Status, err)
	}
	return p.Err()
}
