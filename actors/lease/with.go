package lease

import (
	"github.com/holdfast-io/holdfast/messages/journal"
)

// with returns a changed copy of a grant.
func with(g *journal.Grant, change func(*journal.Grant)) *journal.Grant {
	c := &journal.Grant{
		Resource:     g.GetResource(),
		Owner:        g.GetOwner(),
		Token:        g.GetToken(),
		TtlMs:        g.GetTtlMs(),
		AcquiredAtMs: g.GetAcquiredAtMs(),
		Durability:   g.GetDurability(),
		Metadata:     g.GetMetadata(),
		RequestId:    g.GetRequestId(),
		Limit:        g.GetLimit(),
		Slots:        g.GetSlots(),
		Phase:        g.GetPhase(),
		Former:       g.GetFormer(),
		Session:      g.GetSession(),
		DelayMs:      g.GetDelayMs(),
		Confirm:      g.GetConfirm(),
		SecretHash:   g.GetSecretHash(),
		Identity:     g.GetIdentity(),
		ExtendOrder:  g.GetExtendOrder(),
		SetOrder:     g.GetSetOrder(),
	}
	change(c)
	return c
}

// named returns a grant with another resource.
func named(g *journal.Grant, resource string) *journal.Grant {
	return with(g, func(g *journal.Grant) { g.Resource = resource })
}
