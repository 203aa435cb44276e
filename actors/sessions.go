package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// settleAtOnce is how many resources one turn of the shard brings in line with their sessions, and about how many
// leases. A session with more takes several turns and commits, and other requests are served between them.
const settleAtOnce = 256

// settleDue lets a term bring further leases in line with their sessions.
type settleDue struct{}

// settlement brings the leases of a session in line with it.
type settlement struct {
	session *lease.Session
	// resources are left, and may be named more than once. again: the session has changed since they were listed.
	resources []string
	again     bool
}

// sessions are the sessions of a term: their timers, their settlements, and the requests that wait for these.
type sessions struct {
	*lease.Sessions
	mailbox *mailbox
	// place stands for the sessions in decisions about them: it has no actor and no timer.
	place  *activation
	timers map[*lease.Session]*timer
	// settlements are under way, the oldest first. sent: a settleDue is on its way.
	settlements []*settlement
	settling    map[*lease.Session]*settlement
	sent        bool
	// waiting are the requests that are answered when their session is settled.
	waiting map[*lease.Session][]*Request
}

func newSessions(m *mailbox, epoch uint64, most int, t *tally) *sessions {
	s := &sessions{
		Sessions: lease.NewSessions(epoch), mailbox: m, place: &activation{tally: t},
		timers: make(map[*lease.Session]*timer), settling: make(map[*lease.Session]*settlement),
		waiting: make(map[*lease.Session][]*Request),
	}
	s.Max = most
	return s
}

// keep takes in a keep. It returns the answer, nil if it has to wait until the session is settled.
func (s *sessions) keep(now lease.Instant, r *Request, e lease.Keep) *messages.Reply {
	x := s.Find(now, lease.KeyOfSession(r.Resource))
	switch {
	case x == nil:
		return &messages.Reply{Status: messages.Status_NOT_HELD}
	case !x.IsRunning():
		return sessionEnding()
	}
	opens := x.Opens(e.Request.GetSecret())
	if opens { // mutant: KeepWithoutTheSecretAsks
		x.AskNotices(e.Request.GetNotices())
	}
	if s.Keep(now, x, e.Request.GetTtlMs(), !opens); !x.IsSettled() {
		s.await(x, r)
		return nil
	}
	return kept(x, e)
}

// kept is the answer to a keep.
func kept(x *lease.Session, e lease.Keep) *messages.Reply {
	r := x.Kept()
	if e.Request.GetNotices() && x.Opens(e.Request.GetSecret()) { // mutant: WantedWithoutTheSecret
		r.Wanted = x.Wanted(e.MaxWanted)
	}
	return r
}

// end takes in the end of a session. It returns the answer, nil if it has to wait until the leases have ended.
func (s *sessions) end(now lease.Instant, r *Request, e lease.EndSession) *messages.Reply {
	x, how := s.Find(now, lease.KeyOfSession(r.Resource)), messages.Event_RELEASED
	if e.Request.GetOrphan() {
		how = messages.Event_EXTENDED
	}
	switch {
	case x == nil:
		return &messages.Reply{Status: messages.Status_NOT_HELD}
	case !x.Opens(e.Request.GetSecret()):
		return &messages.Reply{Status: messages.Status_NOT_OWNER}
	case x.IsRunning():
		s.End(x, how, "")
	case x.Ending() != how:
		return sessionEnding()
	}
	if x.IsSettled() {
		return sessionEnded()
	}
	s.await(x, r)
	return nil
}

func sessionEnding() *messages.Reply {
	return &messages.Reply{
		Status: messages.Status_UNAVAILABLE, Error: "the session is ending; nothing happened, use a new session",
	}
}

func sessionEnded() *messages.Reply { return &messages.Reply{Status: messages.Status_RELEASED} }

func (s *sessions) await(x *lease.Session, r *Request) { s.waiting[x] = append(s.waiting[x], r) }

// answered returns the decision that answers a request.
func (s *sessions) answered(r *Request, at lease.Instant, reply *messages.Reply) *decision {
	to, _ := r.replyTo()
	return &decision{
		activation: s.place, request: r, made: true, at: at,
		outcome: lease.Outcome{Answers: []lease.Answer{{To: to, Reply: reply}}},
	}
}

// answers answers the requests that have waited for a session to be settled.
func (s *sessions) answers(x *lease.Session, at lease.Instant) (decisions []*decision) {
	for _, r := range s.waiting[x] {
		reply := sessionEnded()
		if e, isKeep := r.Event.(lease.Keep); isKeep {
			if reply = sessionEnding(); x.IsRunning() {
				reply = kept(x, e)
			}
		}
		decisions = append(decisions, s.answered(r, at, reply))
	}
	delete(s.waiting, x)
	return decisions
}

// forget drops what is kept of a session that has ended and is settled, and returns its timer, nil if it has none.
func (s *sessions) forget(x *lease.Session) *timer {
	t := s.timers[x]
	delete(s.timers, x)
	return t
}

// timer returns the timer of a session.
func (s *sessions) timer(x *lease.Session) *timer {
	t := s.timers[x]
	if t == nil {
		t = &timer{session: x}
		s.timers[x] = t
	}
	return t
}

// settle begins to bring the leases of a session in line with it. A session is listed once at a time.
func (s *sessions) settle(x *lease.Session) {
	if under := s.settling[x]; under != nil {
		under.again = true
		return
	}
	next := &settlement{session: x, resources: x.Resources()}
	s.settling[x] = next
	s.settlements = append(s.settlements, next)
}

// goOn lets a later turn bring further leases in line.
func (s *sessions) goOn() {
	if len(s.settlements) > 0 && !s.sent {
		s.sent = true
		s.mailbox.send(settleDue{})
	}
}

// next returns the next resource whose leases may not be in line with their session.
func (s *sessions) next() (resource string, ok bool) {
	for len(s.settlements) > 0 {
		first := s.settlements[0]
		if left := first.resources; len(left) > 0 {
			first.resources = left[1:]
			return left[0], true
		}
		s.settlements = s.settlements[1:]
		if delete(s.settling, first.session); first.again && !first.session.IsSettled() {
			s.settle(first.session)
		}
	}
	return "", false
}

// stop gives up what is not settled. It returns the requests that wait for that.
func (s *sessions) stop() (undecided []*Request) {
	for _, requests := range s.waiting {
		for _, r := range requests {
			s.place.done()
			undecided = append(undecided, r)
		}
	}
	clear(s.waiting)
	clear(s.settling)
	s.settlements = nil
	return undecided
}
