package lease

import (
	"container/list"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// noticeEvery is the least time between two notices about a lease.
const noticeEvery = time.Second

// Notice is about a lease of a session: other requests want its resource, whose name is qualified.
type Notice struct {
	Resource string
	Token    messages.Token
}

// wanted are the leases of a session that other requests want. A session has it while its latest keep asks for notices.
type wanted struct {
	byLease map[leaseKey]*want
	// fresh are those of which no notice went out in the last second, in the order in which they were asked for. notices
	// are the others, in the order in which their next notices may go out, names in that in which keeps last named them.
	fresh, notices, names list.List
}

// want says that other requests want a lease.
type want struct {
	lease leaseKey
	// waits: requests wait for it. unnoticed: one has begun to wait or was refused since the last notice, unnamed: since
	// a keep has named it.
	waits, unnoticed, unnamed bool
	// next is when the next notice may go out.
	next Instant
	// notice and name are its places in the lists, nil if it is in neither.
	notice, name *list.Element
}

func newWanted() *wanted { return &wanted{byLease: make(map[leaseKey]*want)} }

// ask notes that a request has begun to wait for a lease, or was refused because of it.
func (w *wanted) ask(lease leaseKey) *want {
	x := w.byLease[lease]
	if x == nil {
		x = &want{lease: lease}
		w.byLease[lease] = x
	}
	x.unnoticed, x.unnamed = true, true
	if x.notice == nil {
		x.notice = w.fresh.PushBack(x) // mutant: LatestNoticeFirst
	}
	if x.name == nil {
		x.name = w.names.PushBack(x)
	}
	return x
}

// await notes whether requests wait for a lease.
func (w *wanted) await(lease leaseKey, waits bool) {
	x := w.byLease[lease]
	switch {
	case waits && (x == nil || !x.waits):
		w.ask(lease).waits = true
	case !waits && x != nil:
		x.waits = false
		w.tidy(x)
	}
}

// tidy takes a lease out of the names that no request wants any more, and forgets it when nothing is left of it.
func (w *wanted) tidy(x *want) {
	if x.name != nil && !x.waits && !x.unnamed {
		w.names.Remove(x.name)
		x.name = nil
	}
	if x.name == nil && x.notice == nil {
		delete(w.byLease, x.lease)
	}
}

// remove forgets a lease.
func (w *wanted) remove(lease leaseKey) {
	x := w.byLease[lease]
	if x == nil {
		return
	}
	if x.notice != nil {
		w.unlist(x)
	}
	if x.name != nil {
		w.names.Remove(x.name)
	}
	delete(w.byLease, lease)
}

// unlist takes a lease out of the list that its next notice is in.
func (w *wanted) unlist(x *want) {
	w.fresh.Remove(x.notice) // it has no effect on what is in the other
	w.notices.Remove(x.notice)
	x.notice = nil
}

// first returns the place of the lease whose notice may go out first; nil: there is none.
func (w *wanted) first() *list.Element {
	if e := w.fresh.Front(); e != nil {
		return e
	}
	return w.notices.Front()
}

// due returns the notices that may go out at now, at most limit, and when the next one may.
func (w *wanted) due(now Instant, limit int) (due []Notice, next Instant) {
	for e := w.first(); e != nil; e = w.first() {
		x := e.Value.(*want)
		if x.next > now || len(due) == limit { // mutant: NoticesWithoutARate
			return due, x.next
		}
		w.unlist(x)
		if !x.waits && !x.unnoticed {
			w.tidy(x)
			continue
		}
		x.unnoticed, x.next = false, now.Add(noticeEvery)
		x.notice = w.notices.PushBack(x)
		due = append(due, Notice{x.lease.resource, messages.Token(x.lease.token)}) // mutant: NoticeForAnotherToken
	}
	return due, Never
}

// name returns the names of wanted resources, of at most limit leases. Each call goes on behind the last one.
func (w *wanted) name(limit int) (resources []string) {
	for range min(limit, w.names.Len()) {
		x := w.names.Front().Value.(*want)
		_, name := messages.Unqualify(x.lease.resource)
		resources = append(resources, name)
		x.unnamed = false
		w.names.MoveToBack(x.name) // mutant: KeepsNameTheSame
		w.tidy(x)
	}
	slices.Sort(resources)
	return slices.Compact(resources)
}
