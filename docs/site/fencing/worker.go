package fencing

import (
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// doing is what a worker does next.
type doing int

const (
	asks doing = iota
	waits
	reads
	checks
	writes
	releases
	ends
)

// pace is how long a worker takes for a part of its work.
const pace = time.Second

// worker withdraws an amount: it takes the lock, reads the balance, looks at its lease, writes, and releases.
type worker struct {
	world  *World
	place  int
	name   string
	amount int
	next   doing
	at     lease.Instant // when it does so, as long as it is not paused
	paused bool
	since  lease.Instant // of the pause
	token  messages.Token
	until  lease.Instant // the end of its lease, by its own clock
	read   int
	stale  bool // the storage has refused it at some time
}

// due returns when the worker acts.
func (k *worker) due() lease.Instant {
	if k.paused || k.next == waits || k.next == ends {
		return lease.Never
	}
	return k.at
}

func (k *worker) then(next doing) { k.next, k.at = next, k.world.now.Add(pace) }

// act does what is next.
func (k *worker) act() {
	w := k.world
	switch k.next {
	case asks:
		k.next, k.token = waits, 0
		w.say(k.name, Plain, "%s asks for the lock.", k.name)
		w.serve(lease.Acquire{
			Request: &messages.AcquireRequest{
				Owner: k.name, TtlMs: uint32(ttl.Milliseconds()), WaitMs: uint32((24 * time.Hour).Milliseconds()),
			},
			From: messages.ReplyTo{Subject: k.name}, MaxWaiting: len(w.workers),
		})
	case reads:
		if !k.admitted(false) {
			return
		}
		k.read = w.storage.balance
		k.use(false, Plain)
		w.say(k.name, Plain, "%s reads the balance: %d.", k.name, k.read)
		k.then(checks)
	case checks:
		if w.now >= k.until {
			w.say(k.name, Plain, "%s sees by its own clock that its lease is over. It gives up, and begins again.", k.name)
			k.then(asks)
			return
		}
		w.say(k.name, Plain, "%s looks at its clock: the lease runs. Next it writes.", k.name)
		k.then(writes)
	case writes:
		if !k.admitted(true) {
			return
		}
		k.write()
		k.then(releases)
	case releases:
		w.say(k.name, Plain, "%s releases the lock.", k.name)
		k.next = ends
		w.serve(lease.Release{
			Request: &messages.ReleaseRequest{Owner: k.name, Token: uint64(k.token)},
			From:    messages.ReplyTo{Subject: k.name},
		})
	case waits, ends: // never due
	}
}

// granted begins the work. A paused worker does so when it resumes.
func (k *worker) granted(token messages.Token) {
	k.token, k.until = token, k.world.now.Add(ttl)
	k.then(reads)
	k.since = k.world.now
	k.world.begin(k.place, token)
}

// admitted reports whether the storage lets the worker in. One that was refused begins again.
func (k *worker) admitted(write bool) bool {
	w := k.world
	if w.storage.admit(k.token) == nil {
		return true
	}
	what := "read"
	if write {
		what = "write"
	}
	k.use(write, Good)
	k.stale = true
	w.say("storage", Good, "The storage refuses the %s of %s: token %d is lower than the mark, %d.", what, k.name, k.token, w.storage.mark)
	k.then(asks)
	return false
}

// write puts what the worker has computed, whatever was written since it read.
func (k *worker) write() {
	s := &k.world.storage
	lost := s.balance != k.read
	s.balance = k.read - k.amount
	s.acknowledged += k.amount
	if lost {
		k.use(true, Bad)
		k.world.say("storage", Bad, "The storage accepts the late write of %s: %d. A withdrawal that was acknowledged is lost.", k.name, s.balance)
		return
	}
	k.use(true, Plain)
	k.world.say("storage", Plain, "The storage accepts the write of %s: %d.", k.name, s.balance)
}

func (k *worker) use(write bool, kind Kind) {
	k.world.uses = append(k.world.uses, Use{Worker: k.place, At: millis(k.world.now), Write: write, Kind: kind})
}

func (k *worker) pause() {
	if k.paused || k.next == ends {
		return
	}
	k.paused, k.since = true, k.world.now
	k.world.begin(k.place, 0)
	k.world.say(k.name, Plain, "%s is paused, and does not notice.", k.name)
}

func (k *worker) resume() {
	if !k.paused {
		return
	}
	k.paused = false
	k.world.end(k.place, 0)
	k.at = k.at.Add(k.world.now.Sub(k.since))
	k.world.say(k.name, Plain, "%s resumes where it was.", k.name)
}
