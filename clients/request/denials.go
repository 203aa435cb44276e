package request

import (
	"reflect"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
)

// denials are the senders of each connection that hear what NATS denies there. NATS reports it to the error handler of
// the connection alone, which is the application's: it is called after them.
var denials = struct {
	mu    sync.Mutex
	heard map[*nats.Conn]*hearing
}{heard: map[*nats.Conn]*hearing{}}

type hearing struct {
	senders []*Sender
	next    nats.ErrHandler
	last    error
}

func (h *hearing) handle(nc *nats.Conn, sub *nats.Subscription, err error) {
	denials.mu.Lock()
	var senders []*Sender
	if h.last != err { //nolint:errorlint // the same error twice: a handler of the application that wraps this one is wrapped again
		h.last, senders = err, slices.Clone(h.senders)
	}
	denials.mu.Unlock()
	for _, s := range senders {
		s.denied(err)
	}
	if h.next != nil {
		h.next(nc, sub, err)
	}
}

func hearDenials(s *Sender) {
	denials.mu.Lock()
	defer denials.mu.Unlock()
	h := denials.heard[s.nc]
	if h == nil {
		h = &hearing{next: s.nc.ErrorHandler()}
		denials.heard[s.nc] = h
		s.nc.SetErrorHandler(h.handle)
	}
	h.senders = append(h.senders, s)
}

// ignoreDenials ends what hearDenials has begun. The last sender of a connection restores its handler, unless the
// application has set another one.
func ignoreDenials(s *Sender) {
	denials.mu.Lock()
	defer denials.mu.Unlock()
	h := denials.heard[s.nc]
	h.senders = slices.DeleteFunc(h.senders, func(other *Sender) bool { return other == s })
	if len(h.senders) > 0 {
		return
	}
	delete(denials.heard, s.nc)
	if reflect.ValueOf(s.nc.ErrorHandler()).Pointer() == reflect.ValueOf(h.handle).Pointer() {
		s.nc.SetErrorHandler(h.next)
	}
}
