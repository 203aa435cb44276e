package page

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// lease is a lease as views show it.
type lease struct {
	Resource, Tenant, Owner, Kind, Slots string
	Token                                uint64
	// Tokens is how many tokens it has, from Token on; 0: one.
	Tokens    uint32
	Session   string
	Ephemeral bool
	Metadata  map[string]string
	// Lost: the lease is lost and holds its resource back. What is left is that of the hold then; 0: until it is
	// confirmed.
	Lost bool
	// Age is since when it was acquired, by the clocks of two machines.
	Age, Left, TTL time.Duration
}

func newLease(m *messages.Lease, lost bool) lease {
	return lease{
		Resource: m.GetResource(), Tenant: m.GetTenant(), Owner: m.GetOwner(), Kind: cli.KindOf(m),
		Slots: cli.Slots(m.GetSlots()), Token: m.GetToken(), Tokens: m.GetTokens(),
		Session: m.GetSession(), Ephemeral: m.GetDurability() == messages.Durability_EPHEMERAL,
		Metadata: m.GetMetadata(),
		Lost:     lost, Age: age(m.GetAcquiredAtMs()), Left: cli.Millis(m.GetRemainingMs()),
		TTL: cli.Millis(m.GetTtlMs()),
	}
}

func leaseOf(l holdfast.Lease) lease {
	return lease{
		Resource: l.Resource, Tenant: l.Tenant, Owner: l.Owner, Kind: cli.Kind(l.Limit,
			len(l.Slots)), Slots: cli.Slots(l.Slots), Token: uint64(l.Token), Tokens: l.Tokens,
		Session: l.Session, Ephemeral: l.Ephemeral, Metadata: l.Metadata,
		Age: max(time.Since(l.AcquiredAt), 0), Left: l.Remaining, TTL: l.TTL,
	}
}

// of returns the resource of the lease.
func (l lease) of() cli.Resource { return cli.Resource{Name: l.Resource, Tenant: l.Tenant} }

// age returns how long ago a Unix time was, and 0 if it is not known or the other clock is ahead.
func age(millis int64) time.Duration {
	if millis == 0 {
		return 0
	}
	return max(time.Since(time.UnixMilli(millis)), 0)
}

// State says in words whether the lease is held.
func (l lease) State() string {
	if l.Lost {
		return "held back"
	}
	return "held"
}

// Remains returns what is left of the lease, or of the hold on its resource.
func (l lease) Remains() string {
	if l.Lost && l.Left == 0 {
		return "until the loss is confirmed"
	}
	return duration(l.Left)
}

// Range returns the token of the lease, or of a block the first and the last one.
func (l lease) Range() string { return cli.Tokens(l.Token, l.Tokens) }

// Named returns the [lease.Range] for a sentence.
func (l lease) Named() string { return cli.NamedTokens(l.Token, l.Tokens) }

// has reports whether the lease has the token.
func (l lease) has(token uint64) bool {
	return token >= l.Token && token <= uint64(messages.Token(l.Token).Last(l.Tokens))
}

// Entries returns the metadata in the order of their names.
func (l lease) Entries() (entries []string) {
	for _, name := range slices.Sorted(maps.Keys(l.Metadata)) {
		entries = append(entries, name+" = "+l.Metadata[name])
	}
	return entries
}
