package holdfast

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// subscribeAfter is how long a lease is held before the client subscribes to its events. Most locks are
	// released earlier and cost no subscription.
	subscribeAfter = 500 * time.Millisecond
	// subscribeFrom is the shortest TTL of which the events are subscribed to. Shorter leases are renewed every
	// second or more often.
	subscribeFrom = 3 * time.Second
	// verifyPause is the shortest time between two questions about the same lease, so that forged events
	// cannot make a client flood the service.
	verifyPause = 250 * time.Millisecond
)

// hints are how a client learns of the end of a lease before the next renewal. A hint ends nothing: verify is
// called, which asks the service, and its answer decides. Its owner holds mu when it calls due, wake and stop; what
// comes from elsewhere takes it.
type hints struct {
	sender    *request.Sender
	ends      *ends
	key       string
	ephemeral bool
	// from is when the events are subscribed to.
	from     time.Time
	mu       *sync.Mutex
	verifier verifier

	// token identifies the lease.
	token Token
	// tried: the events were subscribed to; subscribed: with success; over: nothing is to be verified any more.
	tried, subscribed, over bool
	// peeked is the number of the last stale question.
	peeked uint64
	// verified is when verify was last called, verifying calls it next; nil: nothing does.
	verified  time.Time
	verifying *time.Timer
}

// verifier asks the service whether the lease has ended. It is called with mu held.
type verifier interface{ verify() }

// due returns when to call wake for a lease that is renewed to this TTL; false: not at all. The end of an
// ephemeral lease makes no event.
func (i *hints) due(ttl time.Duration) (time.Time, bool) {
	return i.from, !i.tried && !i.ephemeral && ttl >= subscribeFrom
}

// wake subscribes to the events if that is due. It is tried once.
func (i *hints) wake(ttl time.Duration) {
	if from, ok := i.due(ttl); ok && !clock.Now().Before(from) {
		i.tried = true
		i.subscribed = i.ends.add(i.key, i)
	}
}

func (i *hints) stop() {
	i.over = true
	if i.subscribed {
		i.subscribed = false
		i.ends.remove(i.key, i)
	}
	if i.verifying != nil {
		i.verifying.Stop()
	}
	i.sender.Forget(i.peeked)
}

// staleGet asks for what the owner of the shard has in its memory, which costs no commit.
var staleGet = request.Encode(&messages.GetRequest{Stale: true})

// listening is called when the events are subscribed to. It looks whether the lease has ended before.
func (i *hints) listening() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return
	}
	i.sender.Forget(i.peeked)
	i.peeked = i.sender.Send(i.sender.Route(messages.OpGet, i.key, 0), request.Message{Payload: staleGet},
		func(a *request.Answer) {
			r, _ := a.Reply() // an answer that cannot be decoded says nothing
			i.mu.Lock()
			defer i.mu.Unlock()
			if ended(r, i.token) {
				i.hint()
			}
		})
}

// received receives that an event says that the lease of this token has ended.
func (i *hints) received(token Token) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if token == i.token {
		i.hint() // mutant: HintIgnored
	}
}

// ended reports whether an answer to get shows that the lease of a token is not held any more. An answer that has not
// all holders does not show it.
func ended(r *messages.Reply, token Token) bool {
	switch r.GetStatus() {
	case messages.Status_FREE:
		return true
	case messages.Status_HELD, messages.Status_HELD_BACK:
		all, held := holders(r)
		return held == permitsOf(all) && !shows(all, token)
	}
	return false
}

// shows reports whether one of the leases has the token.
func shows(leases []*messages.Lease, token Token) bool {
	return slices.ContainsFunc(leases, func(l *messages.Lease) bool { return Token(l.GetToken()) == token })
}

// holders returns the leases that an answer has, and how many permits are held. A service without shared leases shows
// the holder only.
func holders(r *messages.Reply) (all []*messages.Lease, held int) {
	if r.GetStatus() == messages.Status_HELD && len(r.GetHolders()) == 0 {
		return []*messages.Lease{r.GetLease()}, 1
	}
	return r.GetHolders(), int(r.GetHeld())
}

// permitsOf returns how many permits the leases have.
func permitsOf(leases []*messages.Lease) (n int) {
	for _, l := range leases {
		n += max(len(l.GetSlots()), 1)
	}
	return n
}

// hint calls verify, at once or after a pause. Calls keep the pause; the last hint is always followed by one. It is
// called with mu held.
func (i *hints) hint() {
	if i.over || i.verifying != nil {
		return
	}
	if wait := clock.Until(i.verified.Add(verifyPause)); wait > 0 {
		i.verifying = time.AfterFunc(wait, i.verifyLate)
		return
	}
	i.verified = clock.Now()
	i.verifier.verify()
}

func (i *hints) verifyLate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.verified, i.verifying = clock.Now(), nil
	i.verifier.verify()
}
