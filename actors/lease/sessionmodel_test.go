package lease_test

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// clubModel is a simple model of mutexes in sessions.
type clubModel struct {
	leases   map[string]*clubLease
	queues   map[string][]*clubRequest
	sessions map[string]*clubSession
	opened   int
}

type clubLease struct {
	owner, session string
	ttl            uint32
	until          lease.Instant
	ephemeral      bool
	// order is the highest number of its extends.
	order uint64
	want  clubWant
}

// clubWant says that others want a lease of a session that asks for notices.
type clubWant struct {
	session                   string
	waits, unnoticed, unnamed bool
	next                      lease.Instant
}

func (w *clubWant) ask() { w.unnoticed, w.unnamed = true, true }

func (w *clubWant) isNamed() bool { return w.waits || w.unnamed }

// notice returns whether a notice goes out.
func (w *clubWant) notice(now lease.Instant) bool {
	if !w.waits && !w.unnoticed || w.next > now {
		return false
	}
	w.unnoticed, w.next = false, now.Add(time.Second)
	return true
}

type clubRequest struct {
	owner, session string
	ttl            uint32
	until          lease.Instant
	ephemeral      bool
}

// clubSession is a session; ending says how it has ended, empty while it runs.
type clubSession struct {
	until          lease.Instant
	ttl            uint32
	ending         string
	number, losses int
	notices        bool
}

// find returns a session, which ends if its time has come.
func (m *clubModel) find(now lease.Instant, id string) *clubSession {
	if s := m.sessions[id]; s != nil && s.ending == "" && s.until <= now {
		s.ending = "expired"
	}
	m.tidy()
	return m.sessions[id]
}

// tidy forgets ended sessions without leases.
func (m *clubModel) tidy() {
	for id, s := range m.sessions {
		has := false
		for _, l := range m.leases {
			has = has || l.session == id
		}
		if s.ending != "" && !has {
			delete(m.sessions, id)
		}
	}
}

func (m *clubModel) deadline(l *clubLease) lease.Instant {
	if l.session != "" {
		return m.sessions[l.session].until
	}
	return l.until
}

func (m *clubModel) isAwaited(id string) bool {
	for r, l := range m.leases {
		if l.session == id && len(m.queues[r]) > 0 {
			return true
		}
	}
	return false
}

// asks reports whether a lease belongs to a session that asks for notices.
func (m *clubModel) asks(l *clubLease) bool {
	s := m.sessions[l.session]
	return s != nil && s.notices
}

// want notes for which leases requests wait, when something has happened.
func (m *clubModel) want() {
	for r, l := range m.leases {
		if !m.asks(l) || l.want.session != l.session {
			l.want = clubWant{session: l.session}
		}
		waits := m.asks(l) && len(m.queues[r]) > 0
		if waits && !l.want.waits {
			l.want.ask()
		}
		l.want.waits = waits
	}
}

// wanted returns the resources of a session that are wanted.
func (m *clubModel) wanted(id string, is func(*clubWant) bool) (all []string) {
	for r, l := range m.leases {
		if l.session == id && m.asks(l) && is(&l.want) {
			all = append(all, r)
		}
	}
	slices.Sort(all)
	return all
}

// touch is what any event of a resource does first.
func (m *clubModel) touch(now lease.Instant, r string) {
	var waiting []*clubRequest
	for _, q := range m.queues[r] {
		if q.until > now {
			waiting = append(waiting, q)
		}
	}
	m.queues[r] = waiting
	l := m.leases[r]
	if l == nil {
		return
	}
	if l.session != "" {
		switch s := m.find(now, l.session); s.ending {
		case "":
			l.ttl = max(l.ttl, s.ttl)
		case "orphaned":
			l.session, l.until = "", s.until
			m.tidy()
		default:
			m.end(now, r, s.ending == "expired")
			return
		}
	}
	if m.deadline(l) <= now {
		m.end(now, r, true)
	}
}

// end ends the lease of a resource, and grants to the first request that waits.
func (m *clubModel) end(now lease.Instant, r string, lost bool) {
	if s := m.sessions[m.leases[r].session]; s != nil && lost {
		s.losses++
	}
	delete(m.leases, r)
	m.tidy()
	for m.leases[r] == nil && len(m.queues[r]) > 0 {
		q := m.queues[r][0]
		m.queues[r] = m.queues[r][1:]
		if s := m.find(now, q.session); s == nil || s.ending == "" {
			m.grant(now, r, q)
		}
	}
}

func (m *clubModel) grant(now lease.Instant, r string, q *clubRequest) {
	l := &clubLease{owner: q.owner, session: q.session, ttl: q.ttl,
		until: now.Add(time.Duration(q.ttl) * time.Millisecond), ephemeral: q.ephemeral}
	if q.session != "" {
		l.ttl = m.open(now, q.session, q.ttl).ttl
	}
	m.leases[r] = l
}

func (m *clubModel) open(now lease.Instant, id string, ttl uint32) *clubSession {
	if m.sessions[id] == nil {
		m.opened++
		m.sessions[id] = &clubSession{ttl: ttl, until: now.Add(time.Duration(ttl) * time.Millisecond), number: m.opened}
	}
	return m.sessions[id]
}

// counts reports whether an extend with this number is not late.
func (l *clubLease) counts(order uint64) bool { return order == 0 || order >= l.order }

// extendIn takes a lease into a session, and returns the status of the answer.
func (m *clubModel) extendIn(now lease.Instant, l *clubLease, id string, ttl uint32, order uint64) messages.Status {
	if s := m.find(now, id); s != nil && s.ending != "" {
		return messages.Status_OVERLOADED
	}
	s := m.open(now, id, ttl)
	s.until = max(s.until, now.Add(time.Duration(min(ttl, s.ttl))*time.Millisecond))
	l.session, l.ttl, l.order = id, s.ttl, max(l.order, order)
	m.tidy()
	return messages.Status_EXTENDED
}

// acquire returns the status of the answer, 0 if the request waits.
func (m *clubModel) acquire(now lease.Instant, r string, q *clubRequest, wait bool) messages.Status {
	m.touch(now, r)
	s := m.find(now, q.session)
	switch {
	case s != nil && s.ending != "":
		return messages.Status_OVERLOADED
	case m.leases[r] == nil:
		m.grant(now, r, q)
		return messages.Status_GRANTED
	case wait:
		if q.session != "" {
			m.open(now, q.session, q.ttl)
		}
		m.queues[r] = append(m.queues[r], q)
		return 0
	}
	if m.want(); m.asks(m.leases[r]) {
		m.leases[r].want.ask()
	}
	return messages.Status_HELD
}

// answered checks to whom a lease is granted that another event has left.
func (m *clubModel) answered(c *club, a lease.Answer) {
	if l := m.leases[a.Reply.GetLease().GetResource()]; a.Reply.GetStatus() == messages.Status_GRANTED && l.owner != a.To.Subject {
		c.wrong("%s is granted, want %s", a.To.Subject, l.owner)
	}
}

// fork returns a copy that changes by itself.
func (m *clubModel) fork() clubModel {
	fork := clubModel{leases: maps.Clone(m.leases), queues: maps.Clone(m.queues), sessions: maps.Clone(m.sessions),
		opened: m.opened}
	for r, l := range m.leases {
		copied := *l
		fork.leases[r] = &copied
	}
	for id, s := range m.sessions {
		copied := *s
		fork.sessions[id] = &copied
	}
	return fork
}

// takeOver keeps what is recorded: the persistent leases, and their sessions as far as they have any.
func (m *clubModel) takeOver(now lease.Instant) {
	m.queues = map[string][]*clubRequest{}
	m.sessions = map[string]*clubSession{}
	m.opened++
	for r, l := range m.leases {
		if l.ephemeral {
			delete(m.leases, r)
			continue
		}
		end := now.Add(time.Duration(l.ttl) * time.Millisecond)
		l.until = end
		if l.session == "" {
			continue
		}
		s := m.sessions[l.session]
		if s == nil {
			m.opened++
			s = &clubSession{number: m.opened}
			m.sessions[l.session] = s
		}
		s.ttl, s.until = max(s.ttl, l.ttl), max(s.until, end)
	}
}
