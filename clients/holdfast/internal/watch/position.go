package watch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Position is documented as holdfast.Position. Its cursors are those of shards of one generation.
type Position struct {
	generation uint32
	cursors    []Cursor
}

// Cursor is how far the journal of one shard has been read: up to and with the commit of that number,
// and the first index changes of the next one.
type Cursor struct {
	shard  uint32
	number uint64
	index  uint32
}

// ParsePosition reads what [Position.String] writes. It is an [messages.InvalidError] if s is anything else;
// empty is the zero Position.
func ParsePosition(s string) (Position, error) {
	var p Position
	if s == "" {
		return p, nil
	}
	refused := &messages.InvalidError{
		Field: "position", Rule: "as an event has it, like 0:17,1:99.2 or 2/0:17,1:99.2", Got: excerpt(s),
	}
	cursors := s
	if generation, rest, later := strings.Cut(s, "/"); later {
		p.generation, cursors = uint32(atoi(generation, 32)), rest
		if generation != strconv.FormatUint(uint64(p.generation), 10) || p.generation == 0 {
			return Position{}, refused
		}
	}
	for part := range strings.SplitSeq(cursors, ",") {
		c, ok := parseCursor(part)
		if !ok || len(p.cursors) > 0 && c.shard <= p.cursors[len(p.cursors)-1].shard {
			return Position{}, refused
		}
		p.cursors = append(p.cursors, c)
	}
	return p, nil
}

// String returns the position as text: the generation of shards and a slash, unless it is the first; and for each shard
// its number, a colon, and how far.
func (p Position) String() string {
	var b strings.Builder
	if p.generation > 0 {
		b.WriteString(strconv.FormatUint(uint64(p.generation), 10) + "/")
	}
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

// Advance returns the position with the cursor of one shard replaced.
func Advance(p Position, c Cursor) Position {
	p.cursors = slices.Clone(p.cursors)
	for i := range p.cursors {
		if p.cursors[i].shard == c.shard {
			p.cursors[i] = c
		}
	}
	return p
}

// of returns the cursor of a shard, if the position has one.
func (p Position) of(shard uint32) (Cursor, bool) {
	for _, c := range p.cursors {
		if c.shard == shard {
			return c, true
		}
	}
	return Cursor{}, false
}

// String returns 3:17, and 3:17.2 where two changes of commit 18 are done.
func (c Cursor) String() string {
	s := strconv.FormatUint(uint64(c.shard), 10) + ":" + strconv.FormatUint(c.number, 10)
	if c.index > 0 {
		s += "." + strconv.FormatUint(uint64(c.index), 10)
	}
	return s
}

// parseCursor reads the one way in which a Cursor is written.
func parseCursor(s string) (c Cursor, ok bool) {
	shard, rest, _ := strings.Cut(s, ":")
	number, index, _ := strings.Cut(rest, ".")
	c.shard = uint32(atoi(shard, 32))
	c.number = atoi(number, 64)
	c.index = uint32(atoi(index, 32))
	return c, c.String() == s
}

// atoi returns another number for what is none, which is noticed when the cursor is written again.
func atoi(s string, bits int) uint64 {
	n, _ := strconv.ParseUint(s, 10, bits)
	return n
}

// excerpt is enough of an untrusted text to recognise it.
func excerpt(s string) string {
	const maxShown = 64
	if len(s) > maxShown {
		return strconv.Quote(s[:maxShown]) + "..."
	}
	return strconv.Quote(s)
}
