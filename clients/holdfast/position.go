package holdfast

import (
	"slices"
	"strconv"
	"strings"
)

// Position says how far a [Client.Watch] has come in the journal of every shard that its pattern can
// touch, so that a later one can go on [From] there: with a pattern that touches the same shards, also
// another one. Its text is short, and every value survives text and JSON. The zero Position is none. It
// is not changed by anybody and safe for concurrent use.
type Position struct{ cursors []cursor }

// cursor is how far the journal of one shard has been read: up to and with the commit of that number,
// and of the next one the first so many changes.
type cursor struct {
	shard  uint32
	number uint64
	index  uint32
}

// ParsePosition reads what [Position.String] writes. It is [ErrInvalid] if s is anything else; empty is
// the zero Position.
func ParsePosition(s string) (Position, error) {
	var p Position
	if s == "" {
		return p, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		c, ok := parseCursor(part)
		if !ok || len(p.cursors) > 0 && c.shard <= p.cursors[len(p.cursors)-1].shard {
			return Position{}, rule("position", "as an event told it, like 0:17,1:99.2", excerpt(s))
		}
		p.cursors = append(p.cursors, c)
	}
	return p, nil
}

// String returns the position as text: for each shard its number, a colon, and how far.
func (p Position) String() string {
	var b strings.Builder
	for i, c := range p.cursors {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(c.String())
	}
	return b.String()
}

// IsZero reports whether it is no position.
func (p Position) IsZero() bool { return len(p.cursors) == 0 }

// MarshalText implements [encoding.TextMarshaler], and so JSON as a string.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] as [ParsePosition].
func (p *Position) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePosition(string(text))
	return err
}

// with returns the position with the cursor of one shard replaced.
func (p Position) with(c cursor) Position {
	p.cursors = slices.Clone(p.cursors)
	for i := range p.cursors {
		if p.cursors[i].shard == c.shard {
			p.cursors[i] = c
		}
	}
	return p
}

// of returns the cursor of a shard, if the position has one.
func (p Position) of(shard uint32) (cursor, bool) {
	for _, c := range p.cursors {
		if c.shard == shard {
			return c, true
		}
	}
	return cursor{}, false
}

// String returns 3:17, and 3:17.2 where two changes of commit 18 are done.
func (c cursor) String() string {
	s := strconv.FormatUint(uint64(c.shard), 10) + ":" + strconv.FormatUint(c.number, 10)
	if c.index > 0 {
		s += "." + strconv.FormatUint(uint64(c.index), 10)
	}
	return s
}

// parseCursor reads the one way in which a cursor is written.
func parseCursor(s string) (c cursor, ok bool) {
	shard, rest, _ := strings.Cut(s, ":")
	number, index, _ := strings.Cut(rest, ".")
	c.shard = uint32(atoi(shard, 32))
	c.number = atoi(number, 64)
	c.index = uint32(atoi(index, 32))
	return c, c.String() == s
}

// atoi returns 0 for what is no number; whoever writes it back finds that out.
func atoi(s string, bits int) uint64 {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0
	}
	return n
}

// excerpt is enough of an untrusted text to recognise it.
func excerpt(s string) string {
	const most = 64
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
