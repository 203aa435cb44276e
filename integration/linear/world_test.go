package linear_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// world is a lock service and its clients in virtual time: small, and written without a look at the real
// one, so that bugs can be planted in it. It has one resource.
type world struct {
	dice  *rand.Rand
	bug   bug
	fired int
	// loss is how many of a thousand messages get lost; if none does, no client vanishes and nothing crashes.
	loss    int
	now     time.Duration
	agenda  agenda
	history *linear.History
	journal *linear.Journal

	lock
	// ended are the requests that may not be granted any more, by owner and id.
	ended         map[[2]string]past
	queue         []*asking
	number, epoch uint64
	// before is what a deposed owner still believes.
	before lock
	over   bool
	// pool is the service in place of this one, if the resource is shared.
	pool *pool
}

// lock is what the service knows of the resource.
type lock struct {
	// order is the highest number of the extensions of the lease.
	order          uint64
	owner, request string
	token          uint64
	ttl            uint32
	end            messages.Event_Kind
	due            time.Duration
}

// past is how a request ended, and the token of its lease, if it had one.
type past struct {
	how   messages.Status
	token uint64
}

func (l *lock) held() bool { return l.end == messages.Event_ACQUIRED }

const theResource = "simulated"

// asking is a request on its way.
type asking struct {
	linear.Operation
	sent  []time.Duration
	done  func(linear.Operation)
	over  bool
	gone  bool // its client has vanished
	until time.Duration
	heard int // the sending that waits
}

type (
	agenda []task
	task   struct {
		at time.Duration
		n  int
		do func()
	}
)

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].n < a[j].n
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(t any)   { *a = append(*a, t.(task)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// simulate lets a few clients use a lock for a few seconds.
func simulate(seed uint64, b bug, loss int) *world {
	w := newWorld(seed, b, loss)
	w.open()
	w.play()
	return w
}

func newWorld(seed uint64, b bug, loss int) *world {
	return &world{
		dice: rand.New(rand.NewPCG(seed, 0)), bug: b, loss: loss,
		history: linear.NewHistory(), journal: new(linear.Journal), ended: map[[2]string]past{},
	}
}

// play lets the clients do their work.
func (w *world) play() {
	for i := range 5 {
		c := &user{world: w, number: i}
		c.rename()
		w.in(w.upTo(20), c.next)
	}
	if w.loss > 0 {
		w.in(w.upTo(3000), w.reopen)
	}
	for n := 0; len(w.agenda) > 0; n++ {
		t := heap.Pop(&w.agenda).(task)
		w.now = t.at
		w.over = n > 1500
		t.do()
	}
}

// in does something later.
func (w *world) in(d time.Duration, do func()) {
	w.number++
	heap.Push(&w.agenda, task{w.now + d, int(w.number), do})
}

func (w *world) upTo(milliseconds int) time.Duration {
	return time.Duration(w.dice.IntN(milliseconds*1000)) * time.Microsecond
}

func (w *world) chance(percent int) bool { return w.dice.IntN(100) < percent }

func (w *world) lost() bool { return w.dice.IntN(1000) < w.loss }

// records are numbered apart from tasks.
func (w *world) commit(opened bool, changes ...*journal.Change) {
	commits := uint64(w.commits())
	w.journal.Add(0, commits+1, &journal.Record{Format: journal.Format,
		Body: &journal.Record_Commit{Commit: &journal.Commit{
			Epoch: w.epoch, Number: commits + 1, Opened: opened, Changes: changes, AtMs: w.wall(),
			Writer: &journal.Writer{Node: "n1", Incarnation: w.epoch},
		}}})
}

// wall is the service's wall clock.
func (w *world) wall() int64 { return w.history.Began().Add(w.now).UnixMilli() }

func (w *world) commits() int { return w.journal.Len() }

func (w *world) open() {
	w.epoch++
	w.commit(true)
	if w.held() {
		w.due = w.now + ms(w.ttl)
		w.watch()
	}
}

// reopen is a crash and a new owner: the queue is lost, and the lease runs anew. Of the requests
// that ended, the last grant's is remembered.
func (w *world) reopen() {
	if w.pool != nil {
		w.pool.reopen()
		return
	}
	w.before = w.lock
	w.queue = nil
	clear(w.ended)
	if w.token > 0 && !w.held() {
		w.remember()
	}
	w.open()
}

// remember notes that the request of the last lease has ended.
func (w *world) remember() {
	how := messages.Status_EXPIRED
	if w.end == messages.Event_RELEASED {
		how = messages.Status_RELEASED
	}
	w.ended[[2]string{w.owner, w.request}] = past{how, w.token}
}

// change records what the resource has become.
func (w *world) change(kind messages.Event_Kind, reason string) {
	if kind != messages.Event_EXTENDED {
		w.end = kind
	}
	w.commit(false, &journal.Change{Kind: kind, Reason: reason, Grant: &journal.Grant{
		Resource: theResource, Owner: w.owner, Token: w.token, TtlMs: w.ttl, RequestId: w.request,
		AcquiredAtMs: w.wall(), ExtendOrder: w.order,
	}})
}

// run lets the lease run from now.
func (w *world) run(ttl uint32) {
	w.ttl, w.due = ttl, w.now+ms(ttl)
	if w.plant(ttlHalved, 30) {
		w.due = w.now + ms(ttl)/2
	}
	w.watch()
}

// watch lets the lease run out when it is due.
func (w *world) watch() {
	token, due := w.token, w.due
	early := time.Duration(0)
	if w.plant(expiredEarly, 30) {
		early = min(40*time.Millisecond, due-w.now)
	}
	w.in(due-w.now-early, func() {
		if w.held() && w.token == token && w.due == due {
			w.finish(messages.Event_EXPIRED, "")
		}
	})
}

// finish ends the lease and hands the resource on.
func (w *world) finish(kind messages.Event_Kind, reason string) {
	w.change(kind, reason)
	w.remember()
	for !w.held() && len(w.queue) > 0 {
		q := w.queue[0]
		w.queue = w.queue[1:]
		w.grant(q, q.heard)
		if q.gone {
			token := w.token
			w.in(w.upTo(2), func() {
				if w.held() && w.token == token {
					w.finish(messages.Event_RELEASED, "the client was gone")
				}
			})
		}
		if len(w.queue) > 0 && w.plant(grantedTwice, 20) {
			second := w.queue[0]
			w.queue = w.queue[1:]
			w.answer(second, second.heard, messages.Status_GRANTED, second.Owner, w.token)
		}
	}
}

func (w *world) grant(q *asking, sending int) {
	w.owner, w.request, w.order = q.Owner, q.RequestID, 0
	if w.token == 0 || !w.plant(tokenReused, 10) {
		w.token++
	}
	if w.plant(answeredBeforeAppend, 5) { // and the append is lost
		before := w.lock
		before.token--
		w.answer(q, sending, messages.Status_GRANTED, w.owner, w.token)
		w.lock = lock{token: before.token, end: messages.Event_RELEASED}
		return
	}
	w.ttl = q.TTL
	w.change(messages.Event_ACQUIRED, "")
	w.run(q.TTL)
	w.answer(q, sending, messages.Status_GRANTED, w.owner, w.token)
}

// answer sends an answer to one sending of a request.
func (w *world) answer(q *asking, sending int, status messages.Status, owner string, token uint64) {
	r := &messages.Reply{Status: status, Lease: &messages.Lease{Owner: owner, Token: token, Fence: fmt.Sprint(token)}}
	if status == messages.Status_EXTENDED || status == messages.Status_GRANTED {
		r.Order = w.order
	}
	w.reply(q, sending, r)
}

func (w *world) reply(q *asking, sending int, r *messages.Reply) {
	if w.lost() {
		return
	}
	w.in(w.upTo(3), func() {
		if q.over || q.gone {
			return
		}
		q.over = true
		q.Open--
		q.Last, q.Return = q.sent[sending], w.now
		q.Answered(r)
		w.history.Add(q.Operation)
		q.done(q.Operation)
	})
}

// send sends a request, up to three times.
func (w *world) send(q *asking) {
	switch {
	case q.over:
		return
	case len(q.sent) == 3 || q.gone:
		q.over, q.Return = true, linear.Never
		w.history.Add(q.Operation)
		q.done(q.Operation)
		return
	case len(q.sent) == 0:
		q.Call = w.now
	}
	sending := len(q.sent)
	q.sent, q.Open = append(q.sent, w.now), q.Open+1
	if !w.lost() {
		w.in(w.upTo(3), func() { w.decide(q, sending) })
	}
	w.in(50*time.Millisecond+ms(q.Wait), func() { w.send(q) })
}

func ms(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

func (w *world) String() string {
	return fmt.Sprintf("%d operations, %d commits, %s fired %d times", len(w.history.Operations()), w.commits(), w.bug,
		w.fired)
}
