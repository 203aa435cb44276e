package simnats

import (
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// store is what one server has of a stream: messages in the order of their sequences, with gaps.
type store struct {
	config   jetstream.StreamConfig
	last     uint64
	messages []storedMessage
	bytes    int
}

type storedMessage struct {
	sequence     uint64
	subject      string
	header, data []byte
	at           time.Time
}

func (m *storedMessage) size() int { return len(m.subject) + len(m.header) + len(m.data) }

func newStore(c jetstream.StreamConfig) *store {
	s := &store{config: c}
	if c.FirstSeq > 1 {
		s.last = c.FirstSeq - 1
	}
	return s
}

// first returns the sequence of the first message; without messages that of the next one.
func (s *store) first() uint64 {
	if len(s.messages) > 0 {
		return s.messages[0].sequence
	}
	return s.last + 1
}

// place returns where the first message at or behind a sequence is.
func (s *store) place(sequence uint64) int {
	place, _ := slices.BinarySearchFunc(s.messages, sequence, func(m storedMessage, sequence uint64) int {
		return int(int64(m.sequence) - int64(sequence))
	})
	return place
}

// next returns the first message at or behind a sequence whose subject is among those of a pattern, nil if there is
// none. Pattern "": all.
func (s *store) next(sequence uint64, pattern string) *storedMessage {
	for place := s.place(sequence); place < len(s.messages); place++ {
		if m := &s.messages[place]; pattern == "" || matches(pattern, m.subject) {
			return m
		}
	}
	return nil
}

// lastOf returns the last message of a subject, nil if there is none.
func (s *store) lastOf(subject string) *storedMessage {
	for place := len(s.messages) - 1; place >= 0; place-- {
		if m := &s.messages[place]; matches(subject, m.subject) {
			return m
		}
	}
	return nil
}

// append stores a message at the next sequence.
func (s *store) append(m storedMessage) uint64 {
	s.last++
	m.sequence = s.last
	s.messages = append(s.messages, m)
	s.bytes += m.size()
	if most := s.config.MaxMsgsPerSubject; most > 0 {
		s.limit(m.subject, int(most))
	}
	return s.last
}

// limit keeps the latest messages of a subject.
func (s *store) limit(subject string, most int) {
	n := 0
	for place := len(s.messages) - 1; place >= 0; place-- {
		if s.messages[place].subject != subject {
			continue
		}
		if n++; n > most {
			s.remove(func(m *storedMessage) bool { return m.sequence == s.messages[place].sequence })
			return
		}
	}
}

func (s *store) remove(gone func(*storedMessage) bool) (removed int) {
	var kept []storedMessage
	for i := range s.messages {
		if m := &s.messages[i]; gone(m) {
			removed++
			s.bytes -= m.size()
		} else {
			kept = append(kept, *m)
		}
	}
	s.messages = kept
	return removed
}

// purge removes the messages before a sequence, 0: all, whose subject is among those of a pattern, "": all.
func (s *store) purge(before uint64, pattern string) int {
	return s.remove(func(m *storedMessage) bool {
		return (before == 0 || m.sequence < before) && (pattern == "" || matches(pattern, m.subject))
	})
}

// deleted returns the sequences between the first and the last that are gone.
func (s *store) deleted() (gone []uint64) {
	for sequence := s.first(); sequence <= s.last; sequence++ {
		if place := s.place(sequence); place == len(s.messages) || s.messages[place].sequence != sequence {
			gone = append(gone, sequence)
		}
	}
	return gone
}

// pending returns how many messages there are at or behind a sequence.
func (s *store) pending(sequence uint64, pattern string) (n int) {
	for place := s.place(sequence); place < len(s.messages); place++ {
		if pattern == "" || matches(pattern, s.messages[place].subject) {
			n++
		}
	}
	return n
}
