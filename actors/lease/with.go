package lease

import (
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// with returns a changed copy of a grant.
func with(g *journal.Grant, change func(*journal.Grant)) *journal.Grant {
	c := proto.CloneOf(g)
	change(c) // mutant: SecretHashForgotten, IdentityLostByAnExtension
	return c
}

// named returns a grant with another resource.
func named(g *journal.Grant, resource string) *journal.Grant {
	return with(g, func(g *journal.Grant) { g.Resource = resource })
}
