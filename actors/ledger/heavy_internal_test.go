package ledger

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// natsTakes is how many bytes a record may have, so that it fits into a message of NATS with some room.
const natsTakes = 1<<20 - 16<<10

// longestMetadata is as long as a request may have it.
func longestMetadata() map[string]string {
	m := map[string]string{}
	for i := range messages.MaxMetadataEntries {
		m[fmt.Sprintf("%02d", i)] = strings.Repeat("v", messages.MaxMetadataBytes/messages.MaxMetadataEntries-2)
	}
	return m
}

// crowds are ways to let as much be held of one resource as may.
func crowds() map[string]*messages.AcquireRequest {
	hour := messages.MaxWaitMillis
	longest := &messages.AcquireRequest{
		Owner:     strings.Repeat("o", messages.MaxOwnerBytes),
		RequestId: strings.Repeat("i", messages.MaxRequestIDBytes-4),
		TtlMs:     hour, WaitMs: hour, Limit: math.MaxUint32, Metadata: longestMetadata(),
	}
	permits := proto.CloneOf(longest)
	permits.Permits = messages.MaxPermits
	short := &messages.AcquireRequest{
		Owner: strings.Repeat("o", 100), RequestId: "i", TtlMs: hour, WaitMs: hour, Limit: math.MaxUint32,
		Metadata: map[string]string{"k": strings.Repeat("v", 250)},
	}
	return map[string]*messages.AcquireRequest{"the longest fields": longest, "the most permits": permits,
		"the most leases": short}
}

// fill lets a resource be held by as many as may. It returns the state, and how many there are.
func (k *keeper) fill(resource string, r *messages.AcquireRequest) (s *lease.State, holders int) {
	k.Helper()
	// so that its tokens are as long as can be
	k.commit(&journal.Change{Resource: resource, Reserved: uint64(messages.MaxToken) - 10_000})
	s = k.state(resource)
	for {
		o := s.Step(lease.Time{Instant: k.clock, UnixMillis: 1 << 41}, lease.Acquire{Request: numbered(r, holders)})
		if status := o.Answers[0].Reply.GetStatus(); status == messages.Status_OVERLOADED {
			return s, holders
		} else if status != messages.Status_GRANTED {
			k.Fatalf("lease %d: %v", holders, o.Answers[0].Reply)
		}
		k.commitAt(k.clock, o.Changes)
		holders++
	}
}

// numbered is a request with an id of its own.
func numbered(r *messages.AcquireRequest, n int) *messages.AcquireRequest {
	c := proto.CloneOf(r)
	c.RequestId += fmt.Sprintf("%04d", n)
	return c
}

// A resource with as many leases as may be held stays in one page, which fits into a message with all that is beside
// it.
func TestHeavyResourceFitsIntoAMessage(t *testing.T) {
	for name, r := range crowds() {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			heavy := "heavy" + strings.Repeat("r", messages.MaxResourceBytes-5)
			if name == "the most leases" {
				heavy = "heavy"
			}
			const bits = 5
			beside := func() { // in the same part of the resources
				for i, n := 0, 0; n < 600; i++ {
					if name := fmt.Sprint("beside", i); journal.Bits(journal.Hash(name), bits) == journal.Bits(journal.Hash(heavy), bits) {
						k.change(name, strings.Repeat("o", messages.MaxOwnerBytes))
						n++
					}
				}
			}
			beside()
			_, holders := k.fill(heavy, r)
			beside()
			k.compact(0)
			if depth := k.ledger.pages.depth; depth > bits+5 {
				t.Errorf("%d leases of one resource split the pages to depth %d", holders, depth)
			}
			most := 0
			for _, record := range k.journal.Records() {
				most = max(most, proto.Size(record))
			}
			if most < 350<<10 || most > natsTakes {
				t.Errorf("a record with %d leases has %d bytes", holders, most)
			}
			image := k.ledger.Image(heavy)
			e := &entry{Image: image}
			if size := proto.Size(e.store(heavy)); size > image.Weight() {
				t.Errorf("%d leases have %d bytes, estimated are %d", holders, size, image.Weight())
			}
			before := state(k.ledger)
			k.takeOver()
			if state(k.ledger) != before {
				t.Error("the next owner has another state")
			}
		})
	}
}

// Resources with as many leases as may be held come into pages of their own.
func TestHeavyResourcesAreParted(t *testing.T) {
	k := newKeeper(t)
	var names []string
	for i := 0; len(names) < 3; i++ {
		if name := fmt.Sprint("heavy", i); journal.Bits(journal.Hash(name), 6) == 0 {
			names = append(names, name)
		}
	}
	for _, name := range names {
		k.fill(name, crowds()["the longest fields"])
	}
	k.compact(0)
	for _, record := range k.journal.Records() {
		if size := proto.Size(record); size > natsTakes {
			t.Errorf("%s has %d bytes", record.Describe(), size)
		}
	}
}

// All leases of a resource can end and as many be granted in one step, which is one commit.
func TestChangeOfAllHoldersFitsIntoAMessage(t *testing.T) {
	for name, r := range crowds() {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			heavy := "heavy" + strings.Repeat("r", messages.MaxResourceBytes-5)
			if name == "the most leases" {
				heavy = "heavy"
			}
			s, holders := k.fill(heavy, r)
			queue := func(r *messages.AcquireRequest, n int) {
				o := s.Step(lease.Time{Instant: k.clock}, lease.Acquire{Request: numbered(r, n), MaxWaiting: 1000})
				if len(o.Answers) > 0 {
					t.Fatalf("request %d does not wait: %v", n, o.Answers)
				}
			}
			writer := proto.CloneOf(r)
			writer.Limit, writer.Permits = 1, 1
			queue(writer, 9999)
			k.clock = k.clock.Add(time.Millisecond)
			for i := range min(holders, 999) {
				queue(r, 1000+i)
			}
			k.clock = k.clock.Add(time.Hour - time.Millisecond) // the leases and the wait of the writer end together
			o := s.Step(lease.Time{Instant: k.clock, UnixMillis: 1 << 41}, lease.Tick{})
			if want := holders + min(holders, 999); len(o.Changes) != want {
				t.Errorf("%d changes, want %d", len(o.Changes), want)
			}
			k.commitAt(k.clock, o.Changes)
			records := k.journal.Records()
			if size := proto.Size(records[len(records)-1]); size < 400<<10 || size > natsTakes {
				t.Errorf("%d changes have %d bytes", len(o.Changes), size)
			}
		})
	}
}

// All leases of a resource can be lost, taken back at once, and as many be granted in one step, which is one commit.
func TestTakingAllBackFitsIntoAMessage(t *testing.T) {
	for name, r := range crowds() {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			heavy := "heavy" + strings.Repeat("r", messages.MaxResourceBytes-5)
			if name == "the most leases" {
				heavy = "heavy"
			}
			lost := proto.CloneOf(r)
			lost.DelayMs = messages.MaxDelayMillis
			s, holders := k.fill(heavy, lost)
			writer := proto.CloneOf(r)
			writer.Limit, writer.Permits = 1, 1
			s.Step(lease.Time{Instant: k.clock}, lease.Acquire{Request: numbered(writer, 9999), MaxWaiting: 1000})
			k.clock = k.clock.Add(time.Millisecond)
			for i := range 999 {
				s.Step(lease.Time{Instant: k.clock}, lease.Acquire{Request: numbered(r, 1000+i), MaxWaiting: 1000})
			}
			k.clock = k.clock.Add(time.Hour - time.Millisecond) // the leases and the wait of the writer end together
			o := s.Step(lease.Time{Instant: k.clock, UnixMillis: 1 << 41}, lease.Acquire{Request: numbered(r, 9998)})
			image := s.Image()
			if lost := len(o.Changes) - image.Holders(); lost != 2*holders || image.Holders() < holders || image.HeldBack() {
				t.Errorf("%d changes: %d leases were lost, %d are held", len(o.Changes), holders, image.Holders())
			}
			k.commitAt(k.clock, o.Changes)
			records := k.journal.Records()
			if size := proto.Size(records[len(records)-1]); size < 400<<10 || size > natsTakes {
				t.Errorf("%d changes have %d bytes", len(o.Changes), size)
			}
		})
	}
}

// A page with as many lost leases as may be fits into a message.
func TestHeavyLossesFitIntoAMessage(t *testing.T) {
	for name, r := range crowds() {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			lost := proto.CloneOf(r)
			lost.Confirm = true
			s, holders := k.fill("heavy", lost)
			k.clock = k.clock.Add(time.Hour)
			k.commitAt(k.clock, s.Step(lease.Time{Instant: k.clock}, lease.Tick{}).Changes)
			k.compact(0)
			most := 0
			for _, record := range k.journal.Records() {
				most = max(most, proto.Size(record))
			}
			image := k.ledger.Image("heavy")
			if most > natsTakes || image.Counts().Ended != holders {
				t.Errorf("a record with %d lost leases of %d has %d bytes", image.Counts().Ended, holders, most)
			}
			e := &entry{Image: image}
			if size := proto.Size(e.store("heavy")); size > image.Weight() {
				t.Errorf("%d lost leases have %d bytes, estimated are %d", holders, size, image.Weight())
			}
			before := state(k.ledger)
			k.takeOver()
			if state(k.ledger) != before {
				t.Error("the next owner has another state")
			}
		})
	}
}
