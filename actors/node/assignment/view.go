package assignment

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// listenFor is how long a node that has just started listens before it participates: long enough for two
	// announcements of each other node.
	listenFor = 1100 * time.Millisecond
	// settleAfter is how long a node must announce itself before shards are assigned to it, so that a node that comes
	// and goes moves no shards.
	settleAfter = 3 * time.Second
)

// ErrName says that another process has the node's name.
var ErrName = errors.New("another node has this name")

// view is what one node knows of the deployment from announcements. It belongs to the controller's goroutine.
type view struct {
	// base is what the node announces of itself besides its shards.
	base *peer.Announcement
	log  *slog.Logger
	// audit receives which nodes came and went.
	audit   *slog.Logger
	members *members
	// claims are those of the other nodes, by shard.
	claims []claim
	// began is when the node began to listen, ticked the last tick, echoed when the node last received its own
	// announcement.
	began, ticked, echoed lease.Instant
	// announceSoon: a node has joined, and has not received an announcement of this one yet.
	announceSoon bool
	// isBehind: a node has announced a later generation of shards. shifted is when this node began with the present one;
	// Never if it has started with it.
	isBehind bool
	shifted  lease.Instant
}

func newView(base *peer.Announcement, log, audit *slog.Logger) *view {
	if audit == nil {
		audit = log
	}
	return &view{base: base, log: log, audit: audit, members: newMembers(), claims: make([]claim, base.GetShards()),
		shifted: lease.Never}
}

// begin starts the clocks.
func (v *view) begin(now lease.Instant) { v.began, v.ticked, v.echoed = now, now, now }

// self is the incarnation of this process.
func (v *view) self() uint64 { return v.base.GetIncarnation() }

// receive takes an announcement. own is what this node announces. [ErrName]: the node must shut down.
func (v *view) receive(a, own *peer.Announcement, now lease.Instant) error {
	switch {
	case a.GetIncarnation() == v.self():
		v.echo(now)
	case yields(own, a):
		return fmt.Errorf("%w: %q is already there, as process %x; give each node a name of its own (--name)",
			ErrName, a.GetNode(), a.GetIncarnation())
	case !v.isOfGeneration(a):
		v.receiveForeign(a, now)
	case a.GetLeaving() && len(a.GetOwned()) == 0:
		if v.members.remove(a.GetIncarnation()) {
			v.audit.Info("node left", "node", a.GetNode())
		}
	default:
		if before, ok := v.members.update(a, now); ok && before == nil {
			v.announceSoon = true
			v.logJoined(a)
		}
	}
	return nil
}

// echo notes that the node receives its own announcements. After a silence the other nodes' silence means nothing: this
// node was cut off.
func (v *view) echo(now lease.Instant) {
	if now.Sub(v.echoed) >= silenceLimit {
		v.members.restartSilence(now)
	}
	v.echoed = now
}

// stripped returns an announcement without what it says of shards.
func stripped(a *peer.Announcement) *peer.Announcement {
	return &peer.Announcement{
		Node: a.GetNode(), Incarnation: a.GetIncarnation(), Version: a.GetVersion(), Shards: a.GetShards(),
		Features: a.GetFeatures(), Generation: a.GetGeneration(), Leaving: a.GetLeaving(),
	}
}

// receiveForeign takes the announcement of a node with other shards. Of these nothing is kept.
func (v *view) receiveForeign(a *peer.Announcement, now lease.Instant) {
	v.isBehind = v.isBehind || a.GetGeneration() > v.base.GetGeneration()
	if before, ok := v.members.update(stripped(a), now); ok && before == nil && a.GetGeneration() == v.base.GetGeneration() {
		v.log.Error("node has a different number of shards; its shards are ignored", "node", a.GetNode(),
			"its_shards", a.GetShards(), "shards", v.base.GetShards())
	}
}

// logJoined logs that a node has joined, and where it differs from this one.
func (v *view) logJoined(a *peer.Announcement) {
	v.audit.Info("node joined", "node", a.GetNode(), "version", a.GetVersion())
	if a.GetVersion() != v.base.GetVersion() {
		v.log.Info("node has a different version", "node", a.GetNode(), "its_version", a.GetVersion(),
			"version", v.base.GetVersion())
	}
	if !proto.Equal(a.GetLimits(), v.base.GetLimits()) {
		v.log.Warn("node has different limits; those of the shard's owner apply", "node", a.GetNode(),
			"its_limits", a.GetLimits(), "limits", v.base.GetLimits())
	}
	if a.GetNode() == v.base.GetNode() && !a.GetLeaving() {
		v.log.Error("duplicate node name: the other process must shut down", "node", a.GetNode(),
			"process", fmt.Sprintf("%x", a.GetIncarnation()))
	}
}

// isCutOff reports whether the node does not receive even its own announcements, and so knows nothing of the others.
func (v *view) isCutOff(now lease.Instant) bool { return now.Sub(v.echoed) >= suspectAfter }

// wasPaused reports whether the process has not run for a while, by the time since the last tick.
func (v *view) wasPaused(now lease.Instant) bool { return now.Sub(v.ticked) >= silenceLimit }

// resume notes that the process was paused: it did not listen, so the others' silence means nothing.
func (v *view) resume(now lease.Instant) {
	v.log.Warn("process was paused", "for", now.Sub(v.ticked).Round(time.Millisecond))
	v.members.restartSilence(now)
	v.echoed = now
}

// removeLost forgets the nodes that have been silent, unless it was this node that did not listen.
func (v *view) removeLost(now lease.Instant) {
	if v.isCutOff(now) || v.wasPaused(now) {
		return
	}
	for _, x := range v.members.expire(now) {
		v.audit.Warn("node lost", "node", x.GetNode(), "silent_for", now.Sub(x.latest).Round(time.Millisecond))
	}
}

// candidates returns the nodes to which shards may be assigned. A node that joins, or comes back, counts after
// [settleAfter]; one that was there before this node counts at once. If there is none of the latter kind, the
// deployment starts: the nodes that join within [settleAfter] count at once, before they participate, so that the first
// one does not open the shards of the others.
func (v *view) candidates() []*peer.Announcement {
	all := v.members.candidates()
	starts := !slices.ContainsFunc(all, v.isEstablished)
	return slices.DeleteFunc(all, func(a *peer.Announcement) bool {
		x := v.members.of[a.GetIncarnation()]
		isEarly := x.since.Sub(v.began) < settleAfter && (starts || v.isEstablished(a))
		return !v.isOfGeneration(a) && !v.follows(a) || !isEarly && x.latest.Sub(x.since) < settleAfter
	})
}

// isOfGeneration reports whether an announcement is about the shards of this node.
func (v *view) isOfGeneration(a *peer.Announcement) bool {
	return a.GetShards() == v.base.GetShards() && a.GetGeneration() == v.base.GetGeneration()
}

// follows reports whether a node of an earlier generation is about to go on to that of this node, which has just done
// so. Its shards are left to it.
func (v *view) follows(a *peer.Announcement) bool {
	return v.shifted != lease.Never && v.ticked.Sub(v.shifted) < settleAfter && a.GetGeneration() < v.base.GetGeneration() &&
		slices.Contains(a.GetFeatures(), messages.FeatureReshard)
}

// isEstablished reports whether another node participated when this one first received it.
func (v *view) isEstablished(a *peer.Announcement) bool {
	return a.GetIncarnation() != v.self() && v.members.of[a.GetIncarnation()].established
}
