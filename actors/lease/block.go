package lease

import (
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// blockRate is how many tokens a second the blocks of a resource may take on average, ten times what the fastest
	// client uses. So the counter of a resource lasts for years, and with it the low-water mark, which rises to the
	// tokens of forgotten names.
	blockRate = 10_000_000
	// blockBurst is how many they may take at once.
	blockBurst = 100 * messages.Token(messages.MaxBlock)
)

// blocks is how many tokens the blocks of a resource may take. The zero value allows [blockBurst]. It is lost with the
// State of a resource that was not in use.
type blocks struct {
	taken messages.Token
	since Instant
}

// blockOf returns how many tokens a request asks for.
func blockOf(tokens uint32) messages.Token { return messages.Token(max(tokens, 1)) }

// tokensHeld returns how many tokens a grant has.
func tokensHeld(g *journal.Grant) uint32 { return max(g.GetTokens(), 1) }

// refusedTokens returns the answer to a request that needs so many further tokens, nil if it can have them.
func (t *turn) refusedTokens(n messages.Token) *messages.Reply {
	switch {
	case t.image.Token() > messages.MaxToken-n:
		return t.exhausted()
	case n > 1 && t.blocks.at(t.now.Instant)+n > blockBurst: // mutant: BlocksWithoutBound
		return t.overloaded(fmt.Sprintf(
			"resource %q: its blocks take more than %d tokens a second; ask for fewer, or try later", t.name(), blockRate))
	}
	return nil
}

// take counts the tokens that a request has got.
func (b *blocks) take(now Instant, n messages.Token) {
	if n > 1 {
		b.taken, b.since = b.at(now)+n, now
	}
}

// at returns how many of the tokens that were taken still count.
func (b *blocks) at(now Instant) messages.Token {
	over := messages.Token(now.Sub(b.since)/time.Millisecond) * (blockRate / 1000)
	return b.taken - min(b.taken, over)
}
