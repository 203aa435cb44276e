package actors

import (
	"log/slog"
	"sync"
	"time"
)

// mailbox is how the parts of a term reach their shard's goroutine from timers and from goroutines of
// their own. What arrives after the end of the term is dropped.
type mailbox struct {
	clock Clock
	// work counts the goroutines that talk to the journal or to the publisher's sink.
	work *sync.WaitGroup
	log  *slog.Logger
	// send sends a message to the term. It is safe for concurrent use.
	send func(message any)
}

// timeout is one message that comes some time later, unless it is stopped. The zero value is not set.
type timeout struct{ stopped func() bool }

func (t *timeout) isSet() bool { return t.stopped != nil }

// set lets the message come after d, in the place of one that has not come yet.
func (t *timeout) set(m *mailbox, d time.Duration, message any) {
	t.stop()
	t.stopped = m.clock.AfterFunc(d, func() { m.send(message) })
}

// clear notes that the message has come.
func (t *timeout) clear() { t.stopped = nil }

func (t *timeout) stop() {
	if t.stopped != nil {
		t.stopped()
		t.stopped = nil
	}
}
