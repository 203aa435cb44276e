package lease

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// unacknowledged are the tokens of grants that may have reached no client: only these may an [Undeliverable] take back.
// A token leaves when its holder has sent a request, or when its lease has ended. A new State has none; there the lease
// runs out by itself.
type unacknowledged []messages.Token

func (u *unacknowledged) add(token messages.Token) { *u = append(*u, token) }

func (u *unacknowledged) remove(token messages.Token) {
	*u = slices.DeleteFunc(*u, func(given messages.Token) bool { return given == token })
}

func (u unacknowledged) has(token messages.Token) bool { return slices.Contains(u, token) }
