package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// listenFor is how long a node that has just come listens before it takes part: long enough for two
	// announcements of everybody.
	listenFor = 1100 * time.Millisecond
	// leadAfter is how long a server must have led a bucket before its node is preferred for the shard:
	// shards do not run after a leadership that wanders, and have moved before a leadership that follows
	// its shard does.
	leadAfter = 5 * time.Second
	// maxHeard is how many announcements may wait for the warden.
	maxHeard = 256
)

// ErrName says that another process of the same name is there.
var ErrName = errors.New("another node has this name")

// surroundings are what a warden acts upon.
type surroundings struct {
	clock actors.Clock
	log   *slog.Logger
	// first: nobody else can own a shard yet, so there is nothing to listen for.
	first bool
	// leads reports whether the node's own NATS server leads a shard's bucket; nil if that is not known.
	leads func(shard uint32) bool
	// cede moves the leadership of a shard's bucket to the NATS server of a node; nil if that cannot be.
	cede func(ctx context.Context, shard uint32, to string) error
	// start begins to open a shard. changed is called when its standing has changed.
	start func(shard uint32, changed func()) *actors.Shard
	// retired gets each shard that has ended.
	retired func(*actors.Shard)
	// door opens or shuts a shard's direct door, and reports whether it is as it was told; one that stayed
	// shut is tried again.
	door func(shard uint32, open bool) bool
	// announce tells all nodes, this one included.
	announce func(*peer.Announcement)
}

// warden decides which shards its node owns, on a goroutine of its own: it hears what the other nodes
// announce, opens and hands over shards, and says where requests go. It only decides who tries; the
// journal proves who owns.
type warden struct {
	surroundings
	// base is what the node announces of itself besides its shards.
	base  *peer.Announcement
	posts []*post

	heard   chan *peer.Announcement
	changed chan struct{}
	ended   chan uint32
	depart  chan struct{}
	// joined is closed when the warden takes part, over when it has ended; failed says why, if it had to.
	joined, over chan struct{}
	failed       error
	// begun are the shards with which it began, known once it has joined.
	begun []*actors.Shard
	work  sync.WaitGroup

	// What follows belongs to the goroutine.
	members *membership
	claims  []claim            // what the others say of each shard
	said    *peer.Announcement // what there is to announce
	told    *peer.Announcement // what was announced last
	wanted  *ownership
	keeps   []*custody
	began   lease.Instant
	ticked  lease.Instant
	echoed  lease.Instant // when it last heard itself
	taking  bool          // it takes part
	leaving bool
	greet   bool // somebody has come who should hear of this node

	// nodes are the latest announcements of all, for whoever asks.
	nodes atomic.Pointer[[]*peer.Announcement]
}

func newWarden(base *peer.Announcement, posts []*post, s surroundings) *warden {
	w := &warden{
		surroundings: s, base: base, posts: posts,
		heard: make(chan *peer.Announcement, maxHeard), changed: make(chan struct{}, 1),
		ended: make(chan uint32), depart: make(chan struct{}), joined: make(chan struct{}), over: make(chan struct{}),
		members: newMembership(), claims: make([]claim, len(posts)),
		wanted: newOwnership(base.GetShards(), nil),
	}
	for range posts {
		w.keeps = append(w.keeps, newCustody())
	}
	return w
}

// self is the incarnation of this process.
func (w *warden) self() uint64 { return w.base.GetIncarnation() }

// hear takes in an announcement. What is too much is dropped: there will be another.
func (w *warden) hear(a *peer.Announcement) {
	select {
	case w.heard <- a:
	default:
	}
}

func (w *warden) change() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// run works until ctx ends, or the node has left, or must not stay.
func (w *warden) run(ctx context.Context) {
	defer close(w.over)
	defer w.work.Wait()
	ctx, cancel := context.WithCancel(ctx) // hand-overs end with it
	defer cancel()
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	w.began = w.now()
	w.ticked, w.echoed = w.began, w.began
	w.tick(ctx, w.began)
	silence := time.NewTimer(doubtLimit)
	defer silence.Stop()
	depart := w.depart
	for w.failed == nil && !w.gone() {
		now := w.now()
		silence.Reset(w.members.next(now).Sub(now))
		select {
		case <-ctx.Done():
			return
		case a := <-w.heard:
			w.take(a)
			w.takeMore()
		case <-ticker.C:
			w.tick(ctx, w.now())
			continue
		case <-silence.C:
		case <-w.changed:
		case shard := <-w.ended:
			w.keeps[shard].end()
		case <-depart:
			w.leaving, depart = true, nil
		}
		w.decide(ctx, w.now())
	}
}

func (w *warden) now() lease.Instant { return w.clock.Now().Instant }

// gone reports whether a node that leaves has nothing left to do.
func (w *warden) gone() bool {
	return w.leaving && len(w.shards()) == 0 &&
		!slices.ContainsFunc(w.posts, func(p *post) bool { return p.waiting() > 0 })
}

// shards are those that the node has, whatever their standing. It is also for whoever finds the warden
// over.
func (w *warden) shards() []*actors.Shard {
	var all []*actors.Shard
	for _, c := range w.keeps {
		if c.shard != nil {
			all = append(all, c.shard)
		}
	}
	return all
}

// takeMore takes in the announcements that have come meanwhile, so that one decision is for all of them.
func (w *warden) takeMore() {
	for range len(w.heard) {
		w.take(<-w.heard)
	}
}

// take takes an announcement in.
func (w *warden) take(a *peer.Announcement) {
	now := w.now()
	if a.GetIncarnation() == w.self() {
		if now.Sub(w.echoed) >= silenceLimit {
			w.members.excuse(now) // we were cut off; they may have been there all the time
		}
		w.echoed = now
		return
	}
	if yields(w.said, a) {
		w.failed = fmt.Errorf("%w: %q is already there, as process %x; give each node a name of its own (--name)", ErrName, a.GetNode(), a.GetIncarnation())
		return
	}
	if a.GetShards() != w.base.GetShards() {
		stranger := &peer.Announcement{Node: a.GetNode(), Incarnation: a.GetIncarnation(), Version: a.GetVersion(), Shards: a.GetShards()}
		if before, ok := w.members.hear(stranger, now); ok && before == nil {
			w.log.Error("a node has another number of shards; what it says of them does not count", "node", a.GetNode(), "its_shards", a.GetShards(), "shards", w.base.GetShards())
		}
		return
	}
	if a.GetLeaving() && len(a.GetOwned()) == 0 {
		w.farewell(a)
		return
	}
	before, ok := w.members.hear(a, now)
	if ok && before == nil {
		w.welcome(a)
	}
}

// farewell forgets a node that has given everything away.
func (w *warden) farewell(a *peer.Announcement) {
	if w.members.of[a.GetIncarnation()] != nil {
		w.log.Info("a node has left", "node", a.GetNode())
		w.members.forget(a.GetIncarnation())
	}
}

// welcome notes who has come, and what about it is odd.
func (w *warden) welcome(a *peer.Announcement) {
	w.greet = true
	w.log.Info("a node is there", "node", a.GetNode(), "version", a.GetVersion())
	if a.GetVersion() != w.base.GetVersion() {
		w.log.Info("a node has another version", "node", a.GetNode(), "its_version", a.GetVersion(), "version", w.base.GetVersion())
	}
	if !proto.Equal(a.GetLimits(), w.base.GetLimits()) {
		w.log.Warn("a node has other limits: which of them hold depends on who owns the shard", "node", a.GetNode(), "its_limits", a.GetLimits(), "limits", w.base.GetLimits())
	}
	if a.GetNode() == w.base.GetNode() && !a.GetLeaving() {
		w.log.Error("another process has this node's name and has to give way", "node", a.GetNode(), "process", fmt.Sprintf("%x", a.GetIncarnation()))
	}
}

// tick does what time brings.
func (w *warden) tick(ctx context.Context, now lease.Instant) {
	if now.Sub(w.ticked) >= silenceLimit {
		w.awake(now)
	}
	w.ticked = now
	for shard, c := range w.keeps {
		c.led = since(w.leads != nil && w.leads(uint32(shard)), c.led, now)
		if c.slow(now) {
			w.log.Info("still opening the shard", "shard", shard, "for", now.Sub(c.opening), "records_read", c.records)
		}
	}
	joins := !w.taking && (w.first || now.Sub(w.began) >= listenFor)
	w.taking = w.taking || joins
	w.decide(ctx, now)
	if joins {
		w.begun = w.shards()
		close(w.joined)
	}
	for _, p := range w.posts {
		p.expire(holdLimit)
	}
	w.tell()
}

// awake notes that this process has not run for a while: nobody's silence is their own, and others may
// have taken its shards.
func (w *warden) awake(now lease.Instant) {
	w.log.Warn("this process was paused", "for", now.Sub(w.ticked).Round(time.Millisecond))
	w.members.excuse(now)
	w.echoed = now
	for _, c := range w.keeps {
		c.progressed = now // nothing could be read meanwhile
		if c.standing() == actors.Open {
			c.shard.Prove()
		}
	}
}

// deaf reports whether the node does not even hear itself: then it knows nothing of others.
func (w *warden) deaf(now lease.Instant) bool { return now.Sub(w.echoed) >= doubtLimit }

// miss forgets those who have been silent, if that tells of them: a process that was paused has not
// listened.
func (w *warden) miss(now lease.Instant) {
	if w.deaf(now) || now.Sub(w.ticked) >= silenceLimit {
		return
	}
	for _, x := range w.members.expire(now) {
		w.log.Warn("a node is gone", "node", x.GetNode(), "silent_for", now.Sub(x.heard).Round(time.Millisecond))
	}
}

// decide does what the present state asks for, and tells the others at once if anything is new.
func (w *warden) decide(ctx context.Context, now lease.Instant) {
	w.miss(now)
	w.speak(now)
	w.claims = w.members.claims(w.self(), w.claims)
	for shard, c := range w.keeps {
		c.follow(now)
		w.attend(ctx, uint32(shard), c, now)
		c.follow(now)
		w.direct(uint32(shard), c, now)
	}
	w.speak(now)
	if w.greet || !proto.Equal(w.said, w.told) {
		w.tell()
	}
	all := make([]*peer.Announcement, 0, len(w.members.sorted))
	for _, x := range w.members.sorted {
		all = append(all, x.Announcement)
	}
	w.nodes.Store(&all)
}

// tell announces what there is to say.
func (w *warden) tell() {
	w.greet, w.told = false, w.said
	w.announce(w.said)
}

// speak makes what there is to announce, and who should own what by it.
func (w *warden) speak(now lease.Instant) {
	a := proto.CloneOf(w.base)
	a.Joining, a.Leaving = !w.taking, w.leaving
	for n, c := range w.keeps {
		shard := uint32(n)
		switch c.standing() {
		case actors.Opening:
			a.Opening = append(a.Opening, shard)
		case actors.Open, actors.Leaving:
			a.Owned = append(a.Owned, &peer.Ownership{Shard: shard, Epoch: c.shard.Epoch()})
		case actors.Ended:
		}
		if c.failing > now {
			a.Failing = append(a.Failing, shard)
		}
		if has(c.led, leadAfter, now) {
			a.Leads = append(a.Leads, shard)
		}
	}
	w.members.hear(a, now)
	w.wanted = w.wanted.with(w.candidates())
	a.Wanted = slices.DeleteFunc(w.wanted.of(w.self()), func(shard uint32) bool { return w.keeps[shard].rest > now })
	w.said = a
}

// candidates are those that shards may go to. One that comes, or comes back, is not counted at once;
// those that were there before this node are. Nor does this node count itself as long as they do not: what
// a leaving node gives away would go to two, or to one whose server has just been started.
func (w *warden) candidates() []*peer.Announcement {
	all := slices.DeleteFunc(w.members.candidates(), func(a *peer.Announcement) bool {
		x := w.members.of[a.GetIncarnation()]
		return a.GetShards() != w.base.GetShards() || x.since.Sub(w.began) >= settleAfter && x.heard.Sub(x.since) < settleAfter
	})
	self := w.members.of[w.self()]
	if self == nil || self.heard.Sub(w.began) >= settleAfter || !slices.ContainsFunc(all, w.established) {
		return all
	}
	return slices.DeleteFunc(all, func(a *peer.Announcement) bool { return a.GetIncarnation() == w.self() })
}

// established reports whether a node took part when this one heard it first.
func (w *warden) established(a *peer.Announcement) bool {
	return a.GetIncarnation() != w.self() && w.members.of[a.GetIncarnation()].established
}
