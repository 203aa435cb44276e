package actors

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Observer receives what shards do, for statistics. Its methods are called by many shards at once, on their goroutines:
// they must not block, and should cost no more than some atomic additions.
type Observer interface {
	// Committed: the journal has confirmed a commit with this number of changes, so long after its append began.
	Committed(shard uint32, took time.Duration, changes int)
	// Conflicted: the journal has refused an append because another writer had appended before.
	Conflicted(shard uint32)
	// Ended: the end of a persistent lease is confirmed. held is how long it was held, by the clocks of the nodes that
	// granted and ended it: if they differ, or a clock was set, it is wrong, and never negative.
	Ended(why Ending, held time.Duration)
	// Returned: a grant has reached no client and was taken back. Its end is reported to Ended, too.
	Returned()
	// Opened: the shard is open, so long after the attempt began.
	Opened(shard uint32, from Takeover, took time.Duration)
	// Compacted: a compaction has ended, so long after it began.
	Compacted(took time.Duration)
}

// Ending is why a lease has ended.
type Ending uint8

// The endings.
const (
	EndReleased     Ending = iota // by its owner, or because its grant reached no client
	EndExpired                    // its time was over
	EndDisconnected               // the client of its session was not connected
	EndBroken                     // by an operator
	endings
)

// Endings lists all of them.
func Endings() (all []Ending) {
	for e := range endings {
		all = append(all, e)
	}
	return all
}

// String returns the ending in one word.
func (e Ending) String() string {
	return [endings]string{"released", "expired", "disconnected", "broken"}[e]
}

// Takeover is whose the shard was before it was opened.
type Takeover uint8

// The takeovers.
const (
	TakeoverNew        Takeover = iota // no owner's: its journal was empty
	TakeoverRestarted                  // this node's, by its name: after a restart, or a lost append
	TakeoverHandedOver                 // another node's, which let it go
	TakeoverMoved                      // another node's, which failed or was silent
	takeovers
)

// Takeovers lists all of them.
func Takeovers() (all []Takeover) {
	for t := range takeovers {
		all = append(all, t)
	}
	return all
}

// String returns the takeover in one word.
func (t Takeover) String() string {
	return [takeovers]string{"new", "restarted", "handed_over", "moved"}[t]
}

func takeoverFrom(former, node string, handedOver bool) Takeover {
	switch {
	case former == "":
		return TakeoverNew
	case former == node:
		return TakeoverRestarted
	case handedOver:
		return TakeoverHandedOver
	default:
		return TakeoverMoved
	}
}

// EndingOf returns why a lease has ended by a change; false if none has.
func EndingOf(c *journal.Change) (why Ending, ended bool) {
	switch {
	case c.GetKind() == messages.Event_RELEASED:
		return EndReleased, true
	case c.GetKind() == messages.Event_BROKEN:
		return EndBroken, true
	case c.GetKind() == messages.Event_EXPIRED && c.GetReason() == disconnected:
		return EndDisconnected, true
	case c.GetKind() == messages.Event_EXPIRED:
		return EndExpired, true
	default:
		return 0, false
	}
}

// unobserved is the Observer of a shard that has none.
type unobserved struct{}

// Committed implements Observer.
func (unobserved) Committed(uint32, time.Duration, int) {}

// Conflicted implements Observer.
func (unobserved) Conflicted(uint32) {}

// Ended implements Observer.
func (unobserved) Ended(Ending, time.Duration) {}

// Returned implements Observer.
func (unobserved) Returned() {}

// Opened implements Observer.
func (unobserved) Opened(uint32, Takeover, time.Duration) {}

// Compacted implements Observer.
func (unobserved) Compacted(time.Duration) {}
