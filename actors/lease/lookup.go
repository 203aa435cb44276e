package lease

import "github.com/holdfast-io/holdfast/messages"

// granted returns the present lease that was granted to this request of the caller, if there is one.
func (i *Image) granted(who caller, id string) (h Lease, ok bool) {
	h, ok = i.grantedTo(who.owner, id)
	return h, ok && who.owns(h.Grant) // mutant: SecretOfAReleaseNotChecked
}

// grantedTo returns the present lease that was granted to the request of this owner and id, whatever its secret.
func (i *Image) grantedTo(owner, id string) (h Lease, ok bool) {
	if id == "" {
		return Lease{}, false
	}
	for h := range i.Holdings() {
		if h.Grant.GetRequestId() == id && h.Grant.GetOwner() == owner { // mutant: EveryRequestIsARepetition
			return h, true
		}
	}
	return Lease{}, false
}

// reentered returns the lease that a reentrant request gets again: the latest of its owner with the same limit and as
// many permits.
func (i *Image) reentered(who caller, r *messages.AcquireRequest) (own Lease, ok bool) {
	if !r.GetReentrant() {
		return Lease{}, false
	}
	for h := range i.Holdings() {
		same := limitOf(h.Grant.GetLimit()) == limitOf(r.GetLimit()) && permitsHeld(h.Grant) == permitsOf(r)
		if same && h.Grant.GetTokens() <= 1 && who.owns(h.Grant) { // mutant: BlockIsShared
			own, ok = h, true
		}
	}
	return own, ok
}

// own returns the lease that its owner names: the one with the token, now or before it was downgraded, and without
// a token the only one of the owner.
func (i *Image) own(who caller, token uint64) (own Lease, ok bool) {
	n := 0
	for h := range i.Holdings() {
		switch g := h.Grant; {
		case !who.owns(g): // mutant: AnybodyReleases
		case token == 0:
			own, n = h, n+1
		case token == g.GetToken() || token == g.GetFormer(): // mutant: StaleTokenReleases
			return h, true
		}
	}
	return own, n == 1
}
