package actors

import (
	"reflect"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// Tuning holds the bounds and delays of a shard. The zero value of a field means its default.
type Tuning struct {
	// MaxPending is how many requests may be on their way through the shard.
	MaxPending int
	// MaxWaiting is how many requests may queue for one resource.
	MaxWaiting int
	// MaxSessions is how many sessions the shard may have; a tenant may have a sixteenth of them.
	MaxSessions int
	// CommitDecisions is how many decisions one append carries at most, CommitBytes how many bytes;
	// NATS takes 1 MB.
	CommitDecisions, CommitBytes int
	// CompactCommits and CompactBytes are how far the journal grows before it is compacted; it grows further, in
	// proportion, up to half of the bytes of the pages.
	CompactCommits, CompactBytes int
	// History is how many commits a compaction retains for readers of the journal.
	History int
	// Backlog is how many bytes of commits a compaction leaves that could not be published, at most:
	// beyond it the oldest go, and with them their events.
	Backlog int
	// Remember is how long a free resource keeps its own token counter, at least.
	Remember time.Duration
	// MaxRemembered is how many free resources of the shard do so: beyond it the oldest are forgotten
	// before their time. While a compaction waits or runs there may be an eighth more, and what is
	// released until its end.
	MaxRemembered int
	// ShrinkAfter is how long a free resource keeps more than its token: until then a repeated acquire
	// is recognized after a change of owner.
	ShrinkAfter time.Duration
	// IdleAfter is about how long an unused resource keeps its actor.
	IdleAfter time.Duration
	// RecordAfter is how long no commit comes before one without changes records what was published.
	RecordAfter time.Duration
	// StallAfter is how long an append may take before new requests are turned away.
	StallAfter time.Duration
	// ReopenAfter is how long the shard waits after it lost its bucket, or could not open it.
	ReopenAfter time.Duration
}

// DefaultTuning returns the defaults. docs/decisions has how they were found.
func DefaultTuning() Tuning {
	return Tuning{
		MaxPending:      10_000,
		MaxWaiting:      1_000,
		MaxSessions:     lease.MaxSessions,
		CommitDecisions: 1_000,
		CommitBytes:     512 << 10,
		CompactCommits:  50_000,
		CompactBytes:    32 << 20,
		History:         10_000,
		Backlog:         256 << 20,
		Remember:        30 * 24 * time.Hour,
		MaxRemembered:   250_000,
		ShrinkAfter:     time.Minute,
		IdleAfter:       5 * time.Second,
		RecordAfter:     10 * time.Second,
		StallAfter:      2 * time.Second,
		ReopenAfter:     time.Second,
	}
}

// WithDefaults returns t with its zero fields set to their defaults.
func (t Tuning) WithDefaults() Tuning {
	fields, defaults := reflect.ValueOf(&t).Elem(), reflect.ValueOf(DefaultTuning())
	for i := range fields.NumField() {
		if field := fields.Field(i); field.IsZero() {
			field.Set(defaults.Field(i))
		}
	}
	return t
}
