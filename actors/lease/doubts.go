package lease

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// doubts are the tokens of grants that may have reached no client: only these may an [Undeliverable] take back. A token
// leaves when its holder has sent a request, or when its lease has ended. A new State has none; there the lease runs
// out by itself.
type doubts []messages.Token

func (d *doubts) add(token messages.Token) { *d = append(*d, token) }

func (d *doubts) remove(token messages.Token) {
	*d = slices.DeleteFunc(*d, func(doubted messages.Token) bool { return doubted == token })
}

func (d doubts) has(token messages.Token) bool { return slices.Contains(d, token) }
