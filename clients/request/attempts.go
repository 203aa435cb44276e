package request

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// attempts are those whose answers are expected. Each has a reply subject of its own, which shows to which
// of several repetitions an answer belongs: a lease is counted from when that one was sent. The zero
// attempts has none.
type attempts struct {
	// last is the number of the latest attempt or batch.
	last atomic.Uint64

	mu   sync.Mutex
	open map[uint64]*attempt
	// granted are those whose answers have granted a lease.
	granted recent
	// outbox is the queue of the goroutine that publishes, which ready wakes. It is never longer than there are open
	// attempts and one-way messages.
	outbox []*attempt
	ready  signal
}

// attempt is one message on its way.
type attempt struct {
	id uint64
	to Route
	// header is that of the message, nil if it has none.
	header nats.Header
	// payload is what is to be published; nil: it has been.
	payload []byte
	// owner is whose lease an answer may grant, extend or set; empty: anybody's.
	owner string
	// receive is called with the answer; nil: none is expected.
	receive  func(*Answer)
	sent     time.Time
	encoding messages.Encoding
	// batch is the number of the batch in which the attempt was sent; 0: it was sent alone, or not yet.
	batch uint64
}

// add numbers an attempt, and notes it if an answer is expected.
func (s *attempts) add(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.id = s.next()
	if a.receive == nil {
		return
	}
	if s.open == nil {
		s.open = make(map[uint64]*attempt)
	}
	s.open[a.id] = a
}

// enqueue has an attempt published.
func (s *attempts) enqueue(a *attempt) {
	s.mu.Lock()
	s.outbox = append(s.outbox, a)
	s.mu.Unlock()
	s.ready.Wake()
}

// takeOutbox empties the outbox, and returns its attempts but for those to which no answer is expected any more. The
// next queue takes the room of the last, which is over.
func (s *attempts) takeOutbox(last []*attempt) []*attempt {
	clear(last)
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := slices.DeleteFunc(s.outbox, func(a *attempt) bool { return a.receive != nil && s.open[a.id] == nil })
	s.outbox = last[:0]
	return queue
}

// recall takes attempts back that have not been published, and returns the others.
func (s *attempts) recall(ids []uint64) (left []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left = slices.Clone(ids)
	s.outbox = slices.DeleteFunc(s.outbox, func(a *attempt) bool {
		i := slices.Index(left, a.id)
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
		delete(s.open, a.id)
		return true
	})
	return left
}

// batch numbers a batch of attempts that is sent now.
func (s *attempts) batch(calls []*attempt) (id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = s.next()
	for _, a := range calls {
		a.batch = id
	}
	return id
}

// next is called with mu held.
func (s *attempts) next() uint64 {
	id := s.last.Add(1)
	s.granted.next(id)
	return id
}

// grant notes that the answer to an attempt has granted a lease.
func (s *attempts) grant(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted.add(id)
}

func (s *attempts) hasGranted(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted.has(id)
}

// find returns an attempt, and the number of the batch in which it was sent; nil if no answer is expected to it.
func (s *attempts) find(id uint64) (a *attempt, batch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a = s.open[id]; a != nil {
		batch = a.batch
	}
	return a, batch
}

// take removes an attempt, and returns nil if no answer is expected to it.
func (s *attempts) take(id uint64) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.open[id]
	delete(s.open, id)
	return a
}

// takeBatch removes the attempts of a batch that are still open, and returns them. It looks at all attempts, and is
// for the rare case that a batch has no effect.
func (s *attempts) takeBatch(batch uint64) (taken []*attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.open {
		if a.batch == batch {
			taken = append(taken, a)
			delete(s.open, id)
		}
	}
	return taken
}

// on returns the open attempts on a subject that were sent alone. It looks at all attempts, and is for the rare case
// that a user may not do what it tries.
func (s *attempts) on(subject string, prefix messages.Prefix) (all []*attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.open {
		if a.batch == 0 && a.to.of(prefix) == subject {
			all = append(all, a)
		}
	}
	return all
}

// count returns how many attempts are open.
func (s *attempts) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *attempts) forget(ids ...uint64) {
	if len(ids) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.open, id)
	}
}

// answer returns what is known of an answer from its attempt.
func (a *attempt) answer() *Answer {
	return &Answer{ID: a.id, Sent: a.sent, direct: a.to.direct, encoding: a.encoding}
}

// fits reports whether an answer can be one to the attempt: the leases in it have the resource that was asked about,
// and what was granted, extended or set is the owner's.
func (a *attempt) fits(answer *Answer) bool {
	if a.to.subject != "" || a.to.op == messages.OpKeep || a.to.op == messages.OpEnd {
		return true // it is about no single resource
	}
	r, _ := answer.Reply() // one that cannot be decoded says nothing
	l := r.GetLease()
	switch r.GetStatus() {
	case messages.Status_GRANTED, messages.Status_EXTENDED, messages.Status_UPDATED:
		return a.isAbout(l) && (a.owner == "" || l.GetOwner() == a.owner)
	}
	return (l.GetResource() == "" || a.isAbout(l)) &&
		!slices.ContainsFunc(r.GetHolders(), func(l *messages.Lease) bool { return !a.isAbout(l) })
}

func (a *attempt) isAbout(l *messages.Lease) bool {
	key, err := messages.EncodeKey(l.GetResource())
	return err == nil && key == a.to.key // mutant: AnswerToAnotherQuestion
}
