package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// at is a time of this node in a test, whose wall clock began at a million.
func at(ms int64) lease.Time {
	return lease.Time{Instant: lease.Instant(time.Duration(ms) * time.Millisecond), UnixMillis: 1e6 + ms}
}

func announcedBy(node string, incarnation uint64, sent int64) *peer.Announcement {
	return &peer.Announcement{Node: node, Incarnation: incarnation, SentUnixMs: sent}
}

// Whatever delays announcements have, an estimate is at least the offset, and exceeds it by no more than the shortest
// delay of the last window. When a clock is set, the former offset is forgotten.
func TestClockOffsetWithinTheShortestDelay(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 0))
		c, now := newClocks(), int64(0)
		for range 2 {
			offset, set := dice.Int64N(20_000)-10_000, now
			type sample struct{ received, delay int64 }
			var all []sample
			for range 400 {
				now += dice.Int64N(1000) + 1
				if dice.IntN(100) == 0 {
					now += dice.Int64N(70_000) // a silence
				}
				s := sample{now, dice.Int64N(500)}
				all = append(all, s)
				c.received(announcedBy("n2", 2, at(now).UnixMillis-s.delay-offset), at(now))
				now += dice.Int64N(100)
				if now-set < 4*clockWindow.Milliseconds() {
					continue
				}
				shortest := int64(math.MaxInt64)
				for _, x := range all {
					if now-x.received <= clockWindow.Milliseconds() {
						shortest = min(shortest, x.delay)
					}
				}
				got := c.furthest(at(now).Instant)
				if excess := int64(math.Round(got.Seconds*1000)) - offset; excess < 0 || excess > shortest || got.Node != "n2" {
					t.Fatalf("seed %d: %+v for an offset of %d ms and a delay of %d ms", seed, got, offset, shortest)
				}
			}
		}
	}
}

// The largest offset counts, in both directions, with the node that has it. What a node of an earlier version leaves
// out is no offset, and a node that is silent is forgotten.
func TestFurthestClock(t *testing.T) {
	c := newClocks()
	c.received(announcedBy("old", 1, 0), at(0))
	if got := c.furthest(at(0).Instant); got != (ClockOffset{}) {
		t.Errorf("without an offset: %+v", got)
	}
	c.received(announcedBy("same", 2, at(0).UnixMillis), at(0))
	if got, want := c.furthest(at(0).Instant), (ClockOffset{Node: "same"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.received(announcedBy("ahead", 3, at(0).UnixMillis+3000), at(0))
	c.received(announcedBy("behind", 4, at(0).UnixMillis-2000), at(0))
	if got, want := c.furthest(at(0).Instant), (ClockOffset{"ahead", -3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.received(announcedBy("behind", 4, at(59_000).UnixMillis-2000), at(59_000))
	if got, want := c.furthest(at(60_000).Instant), (ClockOffset{"behind", 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A broken or hostile time makes a large offset, and no false one.
func TestClockOffsetOfImpossibleTimes(t *testing.T) {
	for _, sent := range []int64{math.MaxInt64, maxUnixMillis + 1, maxUnixMillis} {
		for _, here := range []int64{1e6, 0, math.MinInt64} {
			c := newClocks()
			c.received(announcedBy("n2", 2, sent), lease.Time{UnixMillis: here})
			want := ClockOffset{"n2", float64(max(here, 0)-maxUnixMillis) / 1000}
			if got := c.furthest(0); got != want {
				t.Errorf("sent at %d, received at %d: %+v, want %+v", sent, here, got, want)
			}
		}
	}
	c := newClocks()
	for _, sent := range []int64{0, -1, math.MinInt64} {
		c.received(announcedBy("n2", 2, sent), at(0))
	}
	if got := c.furthest(0); got != (ClockOffset{}) {
		t.Errorf("times before 1970 are %+v", got)
	}
}

// The nodes of which an offset is kept are bounded. Silent ones make room.
func TestClocksOfManyNodes(t *testing.T) {
	c := newClocks()
	for i := range uint64(maxClocks) {
		c.received(announcedBy(fmt.Sprint("n", i), i+1, at(0).UnixMillis), at(0))
	}
	late := announcedBy("late", maxClocks+1, at(0).UnixMillis-5000)
	c.received(late, at(1))
	if got := c.furthest(at(1).Instant); got.Node == "late" {
		t.Errorf("%+v of more than %d nodes", got, maxClocks)
	}
	c.received(late, at(60_000))
	if got := c.furthest(at(60_000).Instant); got.Node != "late" || len(c.of) != 1 {
		t.Errorf("%+v of %d nodes", got, len(c.of))
	}
}
