package actors

import "github.com/holdfast-io/holdfast/actors/lease"

// drain is what a shard that stops has for its successor: the requests that were queued, and those that
// came later. All of the first are passed on before any of the second, so that the order of each resource
// stays.
type drain struct {
	// pass gets the requests; nil: they are refused.
	pass func(*Request)
	// brief: a successor waits for the end.
	brief        bool
	queued, late []*Request
	// unanswered is why requests were left without an answer, nil if none were.
	unanswered error
}

// begin says what becomes of requests from now on. They are passed on to a successor if there is one and
// pass is not nil.
func (d *drain) begin(successor bool, pass func(*Request)) {
	d.brief = successor
	if successor {
		d.pass = pass
	}
}

// evict returns the event that takes queued requests out of a resource: a surrender if they are passed on,
// otherwise a dismissal with the sentence.
func (d *drain) evict(sentence string) lease.Event {
	if d.pass != nil {
		return lease.Surrender{}
	}
	return lease.Dismiss{Why: sentence}
}

// keepQueued keeps requests that a resource has surrendered.
func (d *drain) keepQueued(resource string, surrendered []lease.Acquire) {
	for _, a := range surrendered {
		d.queued = append(d.queued, &Request{Resource: resource, Event: a})
	}
}

// keepLate keeps a request that was not decided, and reports whether it did.
func (d *drain) keepLate(r *Request) bool {
	if !r.counted || d.pass == nil {
		return false
	}
	d.late = append(d.late, r)
	return true
}

// passOn passes all requests on. It calls settle with the late ones; the queued ones do not count as on
// their way.
func (d *drain) passOn(settle func(*Request)) {
	for _, r := range d.queued {
		d.pass(r)
	}
	for _, r := range d.late {
		d.pass(r)
		settle(r)
	}
	d.queued, d.late = nil, nil
}
