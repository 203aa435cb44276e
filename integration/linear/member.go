package linear

import "github.com/holdfast-io/holdfast/messages"

// ofSession reports whether the operation is of the session of its lease.
func (o *Operation) ofSession() bool {
	return o.Kind == messages.OpKeep || o.Kind == messages.OpEnd
}

// label is what is shown of the session of the operation, empty if it has none.
func (o *Operation) label() string {
	if o.Session == "" {
		return ""
	}
	return messages.SessionLabel(messages.SessionHash(o.Session))
}

// session is a keep or an end of the session of a lease. While it is known in their shard its leases have not run out,
// and when it is unknown they all have ended.
func (m model) session(s state, o *Operation) (bool, state) {
	h, holds := s.find(o.Token)
	holds = holds && h.session == o.label()
	over := o.Token == s.token && s.end == expired && !o.Former
	switch o.Status {
	case messages.Status_EXTENDED:
		if holds && (!o.Former || !m.isDue(h, o)) { // then it may have run out before, and the keep be of other leases
			h.bound = max(h.bound, o.Call+millis(o.TTL))
			return true, s.with(h)
		}
		return !over, s
	case messages.Status_RELEASED, messages.Status_STATUS_UNSPECIFIED:
		if holds {
			return h.owner == o.Owner, s.left(h, o)
		}
		return !over || o.Status == messages.Status_STATUS_UNSPECIFIED, s
	case messages.Status_NOT_HELD:
		if holds {
			return m.isDue(h, o), s.without(h.token, expired, h.bound)
		}
		return true, s
	case messages.Status_NOT_OWNER:
		return o.Kind == messages.OpEnd && (!holds || h.owner != o.Owner), s
	default:
		return false, s
	}
}

// left is the state when the operation, if it is an end, has ended the session of a lease.
func (s state) left(h holder, o *Operation) state {
	switch {
	case o.Kind != messages.OpEnd:
		return s
	case o.Orphan:
		h.session = ""
		return s.with(h)
	default:
		return s.without(h.token, released, o.Call)
	}
}

// session checks that a session which was known in the shard had not run out before: then one of its leases would have
// been seen to.
func (a *answers) session(o *Operation) {
	if o.Status != messages.Status_EXTENDED && o.Status != messages.Status_RELEASED {
		return
	}
	at, ended := a.ended[o.Token]
	if ended && !o.Former && a.changes[at].GetKind() == messages.Event_EXPIRED && a.seen[at] < o.Last {
		a.is("the session is known, and its lease was seen at %v to have run out: %s", a.seen[at], o.span())
	}
	if !ended && o.Kind == messages.OpEnd && !o.Orphan {
		a.is("the session has ended, and in the journal its lease has not: %s", o.span())
	}
}

// orphans adds the end of a session without an answer that has let its lease go on by itself.
func (r *resolver) orphans(o *Operation) {
	answered := o.Status == messages.Status_RELEASED
	for _, at := range r.extended[extension{o.Token, o.TTL}] {
		if g := r.changes[at].GetGrant(); len(g.GetSession()) == 0 && g.GetOwner() == o.Owner && !answered {
			r.happened(*o, at, messages.Status_RELEASED)
		}
	}
}
