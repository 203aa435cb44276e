package lease

import "github.com/holdfast-io/holdfast/messages"

// Step takes the state over an event at now, and returns what it led to. Time must not go back.
func (s *State) Step(now Time, e Event) Outcome {
	t := &turn{State: s, now: now}
	settle(t)
	held, inMemory := s.image.Held(), s.hasEphemeral && t.image.ephemeral()
	switch e := e.(type) {
	case Acquire:
		acquire(t, e)
	case Release:
		release(t, e)
	case Extend:
		extend(t, e)
	case Get:
		get(t, e)
	case Set:
		set(t, e)
	case Break:
		breakLease(t, e)
	case Confirm:
		confirmLoss(t, e)
	case Undeliverable:
		revoke(t, e)
	case Dismiss:
		dismiss(t, e)
	case Surrender:
		surrender(t)
	case Tick, Keep, EndSession: // the latter two are of [Sessions]
	}
	if len(t.sessions.byKey) > 0 {
		awaitSessions(t)
	}
	if s.hasEphemeral {
		t.out.Ephemeral = len(t.out.Changes) == 0 && (held || t.image.Held()) && (!held || inMemory) &&
			t.image.ephemeral()
		t.out.InMemory = s.Ephemeral()
	}
	return t.out
}

// settle does what is due: waits that have run out, then the leases whose session has changed and those whose time has
// passed, then the delays. What they leave is granted when all of them have ended, so that nothing depends on which of
// them is looked at first.
func settle(t *turn) {
	left := timeOut(t)
	if len(t.sessions.byKey) > 0 {
		left = settleSessions(t) || left
	}
	for h, isDue := t.image.due(t.now.Instant); isDue; h, isDue = t.image.due(t.now.Instant) {
		t.end(h, messages.Event_EXPIRED, "")
		left = true
	}
	if t.image.HeldBack() && endDelays(t) || left {
		t.serve()
	}
}
