package fencing

import (
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// View is the world at an instant, for its picture. Times are in milliseconds.
type View struct {
	At int `json:"at"`
	// Over: nothing more happens by itself.
	Over    bool     `json:"over"`
	TTL     int      `json:"ttl"`
	Lock    Lock     `json:"lock"`
	Workers []Worker `json:"workers"`
	Storage Storage  `json:"storage"`
	Spans   []Span   `json:"spans"`
	Uses    []Use    `json:"uses"`
	Lines   []Line   `json:"lines"`
}

// Span is a lease or a pause of a worker in the picture of the time.
type Span struct {
	Worker int    `json:"worker"` // its place
	Token  uint64 `json:"token"`  // 0: it is a pause
	From   int    `json:"from"`
	To     int    `json:"to"` // -1: it has not ended
}

// Use is a read or a write of the storage in the picture of the time.
type Use struct {
	Worker int  `json:"worker"` // its place
	At     int  `json:"at"`
	Write  bool `json:"write"`
	Kind   Kind `json:"kind"` // Good: it was refused
}

// Lock is what the service knows.
type Lock struct {
	Holder  string   `json:"holder"` // empty: the lock is free
	Token   uint64   `json:"token"`  // the highest that was issued
	Left    int      `json:"left"`   // until the lease ends
	Waiting []string `json:"waiting"`
}

// Worker is a worker, with what it believes.
type Worker struct {
	Name   string `json:"name"`
	Amount int    `json:"amount"`
	Doing  string `json:"doing"`
	Paused bool   `json:"paused"`
	Token  uint64 `json:"token"` // 0: none
	// Holds: it is the holder, as the service knows it.
	Holds bool `json:"holds"`
	// Refused: the storage has refused it at some time.
	Refused bool `json:"refused"`
	Done    bool `json:"done"`
}

// Storage is the account.
type Storage struct {
	Guarded bool   `json:"guarded"`
	Mark    uint64 `json:"mark"`
	Balance int    `json:"balance"`
	// Due is the balance after all withdrawals that were acknowledged. Another one has lost a withdrawal.
	Due int `json:"due"`
}

// Kind is how a line is shown.
type Kind string

// Plain is what happens, Bad that data is lost, Good that it is saved.
const (
	Plain Kind = "plain"
	Bad   Kind = "bad"
	Good  Kind = "good"
)

// Line is something that has happened.
type Line struct {
	At   int    `json:"at"`
	Who  string `json:"who"`
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// View returns the world as it is now.
func (w *World) View() View {
	image := w.lock.Image()
	last := image.Last()
	v := View{
		At: millis(w.now), Over: w.next() == lease.Never, TTL: int(ttl.Milliseconds()),
		Lock: Lock{Token: uint64(image.Token()), Waiting: []string{}},
		Storage: Storage{
			Guarded: w.storage.guarded, Mark: uint64(w.storage.mark), Balance: w.storage.balance,
			Due: begins - w.storage.acknowledged,
		},
		Spans: append([]Span{}, w.spans...), Uses: append([]Use{}, w.uses...), Lines: append([]Line{}, w.lines...),
	}
	if image.Held() {
		v.Lock.Holder, v.Lock.Left = last.Grant.GetOwner(), millis(lease.Instant(last.Deadline.Sub(w.now)))
	}
	for _, q := range w.lock.Waiters(lease.Time{Instant: w.now}) {
		v.Lock.Waiting = append(v.Lock.Waiting, q.GetOwner())
	}
	for _, k := range w.workers {
		v.Workers = append(v.Workers, Worker{
			Name: k.name, Amount: k.amount, Doing: texts[k.next], Paused: k.paused, Token: uint64(k.token),
			Holds: v.Lock.Holder == k.name, Refused: k.stale, Done: k.next == ends,
		})
	}
	return v
}

var texts = map[doing]string{
	asks: "is about to ask for the lock", waits: "waits for the lock", reads: "is about to read",
	checks: "computes", writes: "is about to write", releases: "is about to release", ends: "is done",
}

func millis(i lease.Instant) int { return int(time.Duration(i).Milliseconds()) }
