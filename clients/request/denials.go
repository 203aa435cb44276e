package request

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// denials are the senders of each connection, which receive what NATS denies there. NATS reports it to the error
// handler of the connection alone, which is the application's: it is called after them.
var denials = struct {
	mu sync.Mutex
	of map[*nats.Conn]*denialHandler
}{of: map[*nats.Conn]*denialHandler{}}

// denialHandler is the error handler of one connection. What it counts belongs to the goroutine that calls handlers.
type denialHandler struct {
	senders []*Sender
	next    nats.ErrHandler
	// counted are the denials of each subject on which more attempts are open.
	counted map[string]denied
}

// denied is how often a subject was denied while these attempts were open.
type denied struct {
	times int
	open  []*attempt
}

// maxDenied bounds the subjects whose denials are counted.
const maxDenied = 1024

func (h *denialHandler) handle(nc *nats.Conn, sub *nats.Subscription, err error) {
	denials.mu.Lock()
	senders := slices.Clone(h.senders)
	denials.mu.Unlock()
	if errors.Is(err, nats.ErrPermissionViolation) {
		h.deny(senders, err)
	}
	if h.next != nil {
		h.next(nc, sub, err)
	}
}

// deny takes in a denial. An attempt that NATS did not publish had no effect. The error does not say which one it was:
// the permission may be younger than some of those on the subject, whichever sender they are of.
func (h *denialHandler) deny(senders []*Sender, err error) {
	_, quoted, _ := strings.Cut(err.Error(), `"`)
	subject, _, _ := strings.Cut(quoted, `"`)
	err = fmt.Errorf("%w; holdfast access prints the permissions of a client", err)
	open := make([][]*attempt, len(senders))
	for i, s := range senders {
		if strings.HasPrefix(subject, s.inbox) {
			s.inboxDenied.Store(&err)
			s.alarms.WakeAll()
			return
		}
		open[i] = s.attempts.on(subject, s.router.prefix)
	}
	if !h.areDenied(subject, slices.Concat(open...)) {
		return
	}
	for i, s := range senders {
		for _, a := range open[i] {
			s.notPublished(a, err)
		}
	}
}

// areDenied counts a denial of a subject, and reports whether all open attempts there have been denied.
func (h *denialHandler) areDenied(subject string, open []*attempt) bool {
	now := denied{1, open}
	before := h.counted[subject]
	delete(h.counted, subject)
	if !slices.ContainsFunc(before.open, func(a *attempt) bool { return !slices.Contains(open, a) }) {
		now.times += before.times // the earlier denials were of attempts that are still open
	}
	if now.times >= len(open) {
		return true
	}
	if h.counted == nil || len(h.counted) == maxDenied {
		h.counted = make(map[string]denied)
	}
	h.counted[subject] = now
	return false
}

func watchDenials(s *Sender) {
	denials.mu.Lock()
	defer denials.mu.Unlock()
	h := denials.of[s.nc]
	if h == nil {
		h = &denialHandler{next: s.nc.ErrorHandler()}
		denials.of[s.nc] = h
		s.nc.SetErrorHandler(h.handle)
	}
	h.senders = append(h.senders, s)
}

// ignoreDenials ends what watchDenials has begun. The last sender of a connection restores its handler, unless the
// application has set another one.
func ignoreDenials(s *Sender) {
	denials.mu.Lock()
	defer denials.mu.Unlock()
	h := denials.of[s.nc]
	h.senders = slices.DeleteFunc(h.senders, func(other *Sender) bool { return other == s })
	if len(h.senders) > 0 {
		return
	}
	delete(denials.of, s.nc)
	if reflect.ValueOf(s.nc.ErrorHandler()).Pointer() == reflect.ValueOf(h.handle).Pointer() {
		s.nc.SetErrorHandler(h.next)
	}
}

// inboxDenial returns why no answer reaches the sender; nil: answers do.
func (s *Sender) inboxDenial() error {
	if err := s.inboxDenied.Load(); err != nil {
		return *err
	}
	return nil
}
