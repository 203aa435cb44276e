package lease

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// unacknowledged are the tokens of grants that may have reached no client: only these may an [Undeliverable] take back.
// A token leaves when its holder has sent a request, or when its lease has ended. A new State has none; there the lease
// runs out by itself.
type unacknowledged []messages.Token

func (d *unacknowledged) add(token messages.Token) { *d = append(*d, token) }

func (d *unacknowledged) remove(token messages.Token) {
	*d = slices.DeleteFunc(*d, func(given messages.Token) bool { return given == token })
}

func (d unacknowledged) has(token messages.Token) bool { return slices.Contains(d, token) }
