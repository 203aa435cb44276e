package linear

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Shown is as much of a lease as the checks look at.
type Shown struct {
	Owner string `json:"owner,omitempty"`
	Token uint64 `json:"token,omitempty"`
	// Tokens is how many tokens it has, from Token on; 0: one.
	Tokens uint32 `json:"tokens,omitempty"`
	// Value is its metadata, empty if it has none.
	Value string `json:"value,omitempty"`
	// Session is the label of its session, empty if it is in none.
	Session string `json:"session,omitempty"`
	sharing
}

// sharing is how a lease is shared. The zero value is that of an exclusive one.
type sharing struct {
	Limit uint32 `json:"limit,omitempty"`
	// Slots are the numbers of its permits in rising order, with spaces between.
	Slots string `json:"slots,omitempty"`
	// Phase is the fence, 0 if that is the token of an exclusive lease.
	Phase uint64 `json:"phase,omitempty"`
}

// ShownOf returns what an answer shows of a lease, the zero value if it shows none. A fence that cannot be read is the
// highest number, which no lease has.
func ShownOf(l *messages.Lease) Shown {
	return Shown{l.GetOwner(), l.GetToken(), l.GetTokens(), l.GetMetadata()[valueEntry], l.GetSession(), leaseOf(l)}
}

// shownAs returns what an answer shows of the lease of a grant.
func shownAs(g *journal.Grant) Shown {
	return Shown{g.GetOwner(), g.GetToken(), g.GetTokens(), g.GetMetadata()[valueEntry],
		messages.SessionLabel(g.GetSession()), grantOf(g)}
}

func leaseOf(l *messages.Lease) sharing {
	s := sharing{l.GetLimit(), slotsText(l.GetSlots()), 0}
	fence, err := strconv.ParseUint(l.GetFence(), 10, 64)
	switch {
	case l == nil:
	case err != nil:
		s.Phase = 1<<64 - 1
	case s.Limit > 0 || fence != l.GetToken():
		s.Phase = fence
	}
	return s
}

func grantOf(g *journal.Grant) sharing {
	return sharing{g.GetLimit(), slotsText(g.GetSlots()), g.GetPhase()}
}

func slotsText(slots []uint32) string {
	if len(slots) == 0 {
		return ""
	}
	return strings.Trim(fmt.Sprint(slots), "[]")
}

// numbers returns the slots; an exclusive lease has number 0.
func (s sharing) numbers() (slots []uint32) {
	if s.Slots == "" {
		return []uint32{0}
	}
	for text := range strings.FieldsSeq(s.Slots) {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil // no lease has that
		}
		slots = append(slots, uint32(n))
	}
	return slots
}

// permits returns how many permits the lease has.
func (s sharing) permits() uint64 { return uint64(strings.Count(s.Slots, " ") + 1) }

// most returns how many permits may be held beside the lease, its own included.
func (s sharing) most() uint64 { return uint64(max(s.Limit, 1)) }

func (s sharing) shared() bool { return s.Limit > 0 }

// text is what a report shows of the lease behind its owner and token.
func (l Shown) text() string {
	text := l.sharing.text()
	if l.Tokens > 0 {
		text = fmt.Sprintf(" to %d", last(l.Token, l.Tokens)) + text
	}
	if l.Value != "" {
		text += ", value " + l.Value
	}
	if l.Session != "" {
		text += ", session " + l.Session
	}
	return text
}

// text is empty for an exclusive lease.
func (s sharing) text() string {
	if s == (sharing{}) {
		return ""
	}
	return fmt.Sprintf(", limit %d, slots %s, phase %d", s.Limit, s.Slots, s.Phase)
}

// last returns the last token of a lease that has n of them; 0: one.
func last(token uint64, n uint32) uint64 { return token + uint64(max(n, 1)) - 1 }

// has reports whether a lease that has n tokens from the first one on has this one.
func has(first uint64, n uint32, token uint64) bool { return first <= token && token <= last(first, n) }

// smallestFree returns the n smallest numbers that are not taken.
func smallestFree(n uint64, taken []uint32) (free []uint32) {
	for slot := uint32(0); uint64(len(free)) < n; slot++ {
		if !slices.Contains(taken, slot) {
			free = append(free, slot)
		}
	}
	return free
}
