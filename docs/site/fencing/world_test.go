package fencing

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// Without a word of the reader, a late write is accepted without a guard, and refused with one.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		guarded      bool
		balance, due int
		says         string
	}{
		{false, 70, 65, "A withdrawal that was acknowledged is lost."},
		{true, 65, 65, "The storage refuses the write of anna: token 33 is lower than the mark, 34."},
	} {
		w := New(c.guarded)
		w.Advance(time.Minute)
		v := w.View()
		if !v.Over || v.Storage.Balance != c.balance || v.Storage.Due != c.due || !said(v, c.says) {
			t.Errorf("guarded %v: %+v", c.guarded, v)
		}
		steps := New(c.guarded)
		for !steps.View().Over {
			steps.Step()
		}
		if got := steps.View(); len(got.Lines) != len(v.Lines) || got.Storage != v.Storage {
			t.Errorf("guarded %v: in steps %+v, in one %+v", c.guarded, got, v)
		}
	}
}

// A worker that is paused before it looks at its clock notices, and writes nothing late.
func TestPauseBeforeTheCheck(t *testing.T) {
	w := New(false)
	w.Advance(1500 * time.Millisecond)
	w.Pause(0)
	w.Advance(time.Minute)
	w.Resume(0)
	w.Advance(time.Minute)
	if v := w.View(); !v.Over || v.Storage.Balance != v.Storage.Due || !said(v, "sees by its own clock") {
		t.Errorf("%+v", v)
	}
}

// However the workers are paused, a guarded storage loses nothing.
func TestGuardHolds(t *testing.T) {
	lost := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		guarded, open := New(true), New(false)
		for range 40 {
			place, pauses, d := r.IntN(2), r.IntN(2) == 0, time.Duration(r.IntN(3000))*time.Millisecond
			for _, w := range []*World{guarded, open} {
				if pauses {
					w.Pause(place)
				} else {
					w.Resume(place)
				}
				w.Advance(d)
			}
		}
		for _, w := range []*World{guarded, open} {
			w.Resume(0)
			w.Resume(1)
			w.Advance(time.Hour)
		}
		v := guarded.View()
		if !v.Over || v.Storage.Balance != 65 || v.Storage.Due != 65 || !v.Workers[0].Done || !v.Workers[1].Done {
			t.Fatalf("seed %d: %+v", seed, v)
		}
		if s := open.View().Storage; s.Balance != s.Due {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no pause has made an open storage lose a withdrawal")
	}
}

func TestUnknownPlace(t *testing.T) {
	w := New(true)
	w.Pause(-1)
	w.Resume(2)
	w.Advance(time.Minute)
	if v := w.View(); v.Storage.Balance != 65 || w.next() != lease.Never {
		t.Errorf("%+v", v)
	}
}

func said(v View, text string) bool {
	for _, l := range v.Lines {
		if strings.Contains(l.Text, text) {
			return true
		}
	}
	return false
}
