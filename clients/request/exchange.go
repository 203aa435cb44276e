package request

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/chance"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// firstRetry and maxRetry are the pauses after an answer that no node can decide.
	firstRetry = 50 * time.Millisecond
	maxRetry   = time.Second
	// openAttempts is how many attempts of one request are expected to be answered. The service answers the
	// latest.
	openAttempts = 8
	// firstContact is how long after its start a sender first reports that no node answers; minContact is how long
	// each exchange tries at least. Somebody who waits for a first answer has rather made a mistake than met a
	// failover.
	firstContact = 800 * time.Millisecond
	minContact   = 300 * time.Millisecond
)

// Request is what an [Exchange] sends.
type Request struct {
	// Op and Key of a request about one resource.
	Op  messages.Operation
	Key string
	// Subject of a request about no single resource, such as a listing; empty: the request is about Key. Its
	// answer is a Reply only if it is a refusal: read it with [Answer.Decode].
	Subject string
	// Message returns the request as it is to be sent now. Every time it must be the same request to the
	// service.
	Message func() proto.Message
	// MaxPause bounds the pauses between attempts without an answer; 0: [messages.MaxResend].
	MaxPause time.Duration
	// Waits: the service may leave the request without an answer for a time, as one in a queue.
	Waits bool
	// Header goes with each attempt. A request that has one is not sent in a batch. nil: it has none. It is not
	// modified.
	Header nats.Header
	// GivesUp: a caller waits, who learns of what another attempt would hardly change: that NATS denies the request,
	// that the deployment has not answered to the sender at all, or that its shard has had no owner for long. Without
	// it the exchange goes on for as long as it may.
	GivesUp bool
	// Began is called once, when the first attempt is on its way behind all that was sent before. nil: nothing is called.
	Began func()
	// Stop ends the exchange with [ErrClosed] when it is closed. nil: only its context ends it.
	Stop <-chan struct{}
}

// Exchange sends one request until it is answered. It belongs to one goroutine.
type Exchange struct {
	s *Sender
	Request

	// deadline is when the time given to Within is over; zero: there is none. due is when the next attempt is sent.
	// patience is when the exchange gives up if no node has ever answered.
	deadline, due, patience time.Time
	// connection is the one on which the latest attempt was sent.
	connection uint64
	// sent counts attempts, idle those of the pauses that followed an attempt without effect.
	sent, idle int
	// open are the attempts that may have had an effect, the oldest first; unsure: so may others that have
	// been forgotten.
	open   []uint64
	unsure bool
	// obstacle is why the latest attempt without effect had none; nil if all may have had one. denied: NATS denies the
	// request on the route to any node.
	obstacle error
	denied   bool

	// wake has an element when there is something to look at: an answer, an alarm, another connection.
	wake  signal
	alarm alarm.Alarm

	mu   sync.Mutex
	came []*Answer
	over bool // what comes now is an orphan

	// first is the first attempt. openRoom and cameRoom are what open and came take at first: most exchanges have one.
	first    attempt
	openRoom [1]uint64
	cameRoom [1]*Answer
}

// Exchange returns an exchange of the request, to be run once. The caller calls [Exchange.Finish] in the
// end.
func (s *Sender) Exchange(r Request) *Exchange {
	if r.MaxPause == 0 {
		r.MaxPause = messages.MaxResend
	}
	x := &Exchange{s: s, Request: r, wake: s.signals.Get().(signal)} //nolint:forcetypeassert // nothing else is there
	x.alarm.Waker = x.wake
	x.open, x.came = x.openRoom[:0], x.cameRoom[:0]
	return x
}

// Within is [Exchange.Run] for no longer than d. The cause is then [ErrNoAnswer], or what explains it.
func (x *Exchange) Within(ctx context.Context, d time.Duration) (*Answer, error) {
	now := clock.Now()
	x.deadline = now.Add(d)
	return x.run(ctx, now)
}

// Run returns the answer of a node that has decided, or an [*Error]. An UNAVAILABLE is no decision, and an
// OVERLOADED none while another attempt may have had an effect; then it goes on.
func (x *Exchange) Run(ctx context.Context) (*Answer, error) { return x.run(ctx, clock.Now()) }

func (x *Exchange) run(ctx context.Context, now time.Time) (*Answer, error) {
	switch {
	case x.isStopped():
		return nil, x.failure(ErrClosed)
	case ctx.Err() != nil:
		return nil, x.failure(ContextError(ctx))
	case x.isLate(now):
		return nil, x.failure(ErrNoAnswer)
	case x.s.IsOff():
		return nil, x.failure(nats.ErrConnectionClosed)
	case x.isHopeless(now):
		return nil, x.failure(ErrNoAnswer)
	}
	if x.GivesUp {
		x.patience = now.Add(max(minContact, firstContact-now.Sub(x.s.begun)))
	}
	x.send(now)
	if x.Began != nil {
		x.Began()
	}
	defer x.s.alarms.Stop(&x.alarm)
	for {
		x.s.alarms.Set(&x.alarm, x.next()) // before the sender is looked at, which wakes those that are set
		switch {
		case x.s.IsOff():
			return nil, x.giveUp(nats.ErrConnectionClosed)
		case x.connection != x.s.connection.Load():
			x.send(clock.Now())
			continue
		}
		select {
		case <-x.wake:
		case <-ctx.Done():
			return nil, x.giveUp(ContextError(ctx))
		case <-x.Stop:
			return nil, x.giveUp(ErrClosed)
		}
		if a := x.sift(); a != nil {
			return a, nil
		}
		switch now := clock.Now(); {
		case x.isLate(now), x.isHopeless(now):
			return nil, x.giveUp(ErrNoAnswer)
		case !now.Before(x.due):
			x.send(now)
		}
	}
}

// isLate reports whether the time given to Within is over.
func (x *Exchange) isLate(now time.Time) bool { return !x.deadline.IsZero() && !now.Before(x.deadline) }

// isHopeless reports whether another attempt would hardly change what has kept the earlier ones from having an effect.
func (x *Exchange) isHopeless(now time.Time) bool {
	switch {
	case !x.GivesUp:
		return false
	case x.s.inboxDenial() != nil:
		return true
	case x.obstacle == nil || !x.Definite():
		return false
	}
	refusal, refused := errors.AsType[*Refusal](x.obstacle)
	return x.denied || refused && refusal.Reply.GetLasting() || !x.s.reached.Load() && !now.Before(x.patience)
}

// next returns when there is something to do at the latest.
func (x *Exchange) next() time.Time {
	next := x.due
	if x.isLate(next) {
		next = x.deadline
	}
	if x.GivesUp && x.obstacle != nil && x.Definite() && !x.s.reached.Load() && next.After(x.patience) {
		next = x.patience
	}
	return next
}

func (x *Exchange) isStopped() bool {
	select {
	case <-x.Stop:
		return true
	default:
		return false
	}
}

// Finish ends the exchange, once: what comes now, or has not been looked at, is an orphan.
func (x *Exchange) Finish() {
	x.s.Forget(x.open...)
	x.mu.Lock()
	x.over = true
	left := x.came
	x.came = nil
	x.mu.Unlock()
	x.s.signals.Put(x.wake) // what wakes it from now on wakes another exchange in vain
	for _, a := range left {
		x.s.orphan(a)
	}
}

// Definite reports whether the request has had no effect and can have none any more. It is meaningful
// when Run has returned, and counts an answer that Run returned as no effect.
func (x *Exchange) Definite() bool { return len(x.open) == 0 && !x.unsure }

// send makes one more attempt. The next one is due after a pause.
func (x *Exchange) send(now time.Time) {
	x.connection = x.s.connection.Load()
	x.due = now.Add(min(messages.ResendAfter(x.sent), x.MaxPause))
	m, a := x.Message(), &x.first
	if a.id != 0 {
		a = new(attempt)
	}
	id := x.s.send(a, x.route(), Message{Header: x.Header, Payload: Encode(m), Owner: ownerOf(m)}, x.receive)
	x.sent++
	if len(x.open) == openAttempts {
		x.s.Forget(x.open[0])
		x.open, x.unsure = x.open[1:], true
	}
	x.open = append(x.open, id)
}

// ownerOf returns the owner of a request; empty: it has none.
func ownerOf(m proto.Message) string {
	if owned, ok := m.(interface{ GetOwner() string }); ok {
		return owned.GetOwner()
	}
	return ""
}

func (x *Exchange) route() Route {
	if x.Subject != "" {
		return Route{subject: x.Subject}
	}
	return x.s.Route(x.Op, x.Key, x.sent)
}

// RetryAfter returns how long to wait after the nth attempt in a row, counted from 0, that had no effect.
// It is random, so that not all clients return at once.
func RetryAfter(n int) time.Duration {
	pause := min(firstRetry<<min(n, 10), maxRetry)
	return pause/2 + chance.Below(pause)
}

func (x *Exchange) receive(a *Answer) {
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		x.s.orphan(a)
		return
	}
	x.came = append(x.came, a)
	x.mu.Unlock()
	x.wake.Wake()
}

// signal wakes the goroutine that waits for it, now or when it next waits. It has room for one.
type signal chan struct{}

// Wake implements [alarm.Waker].
func (b signal) Wake() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// answer returns an answer that has come, nil if there is none.
func (x *Exchange) answer() *Answer {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.came) == 0 {
		return nil
	}
	a := x.came[0]
	x.came = x.came[1:]
	return a
}

// sift looks through what has come for a decision. When the latest attempt is known to have had no effect,
// the next one is soon, on another route.
func (x *Exchange) sift() *Answer {
	idle := false
	for a := x.answer(); a != nil; a = x.answer() {
		x.drop(a.ID)
		if !x.hadNoEffect(a) {
			x.learn(a)
			a.Alone = x.Definite()
			return a
		}
		idle = idle || len(x.open) == 0 || x.open[len(x.open)-1] < a.ID
	}
	if idle {
		x.due = clock.Now().Add(RetryAfter(x.idle))
		x.idle++
	}
	return nil
}

func (x *Exchange) drop(id uint64) {
	x.open = slices.DeleteFunc(x.open, func(other uint64) bool { return other == id })
}

// giveUp is failure of an exchange that has begun. It takes note of the attempts that are known by now to have had no
// effect, so that the error is definite if it can be.
func (x *Exchange) giveUp(cause error) *Error {
	x.open = x.s.attempts.recall(x.open)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.came = slices.DeleteFunc(x.came, func(a *Answer) bool {
		if !x.hadNoEffect(a) {
			return false
		}
		x.drop(a.ID)
		return true
	})
	return x.failure(cause)
}

// hadNoEffect reports whether the answer says only that this attempt had no effect, so that another one
// may have one.
func (x *Exchange) hadNoEffect(a *Answer) bool {
	switch {
	case errors.Is(a.NotSent, nats.ErrPermissionViolation):
		x.obstacle = a.NotSent
		x.denied = x.denied || !a.direct
		return true
	case a.NotSent != nil:
		x.obstacle = a.NotSent
		x.sent--
		return true
	case a.NoResponders():
		x.obstacle = ErrNoResponders
		return true
	case x.Subject != "" && !a.failed():
		return false
	}
	r, err := a.Reply()
	if err != nil {
		return false
	}
	switch r.GetStatus() {
	case messages.Status_UNAVAILABLE:
		x.obstacle = &Refusal{r}
		return true
	case messages.Status_OVERLOADED:
		x.obstacle = &Refusal{r}
		return !x.Definite()
	}
	return false
}

// learn notes that any node answered where the direct route had not.
func (x *Exchange) learn(a *Answer) {
	if !a.direct && x.sent > 1 && !x.Waits {
		x.s.router.detour.begin(x.s.router.now())
		x.s.batching.tryAgain(false)
	}
}

// failure says what is known of a request that was given up because of cause.
func (x *Exchange) failure(cause error) *Error {
	changes := x.Op != messages.OpGet && slices.Contains(messages.Operations, x.Op)
	e := &Error{Definite: x.Definite() || !changes, Cause: cause}
	if errors.Is(cause, ErrNoAnswer) {
		e.Cause = cmp.Or(x.s.inboxDenial(), x.obstacle, cause)
		if e.Cause == ErrNoResponders { //nolint:errorlint // it is the sentinel itself, which does not name the prefix
			e.Cause = x.s.noResponders()
		}
	}
	return e
}
