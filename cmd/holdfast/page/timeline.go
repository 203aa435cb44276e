package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

const (
	// maxLanes is how many owners, and maxBars how many leases a time line has, the newest ones.
	maxLanes, maxBars = 8, 60
	// Sizes of the picture in pixels: of a lane, of what is above its bar, of the bar, and of the axis below all.
	laneHeight, barTop, barHeight, axisHeight = 40, 18, 14, 24
	// ticks is how many marks the axis has, both ends included.
	ticks = 3
)

// timeline is the picture of who has held and who waits for a lock. Places across are percentages, so that it fits each
// screen without smaller letters; places down are pixels.
type timeline struct {
	From, To      time.Time
	Lanes         []lane
	Ticks         []tick
	Height, Floor int
	// Title says what it shows, and Note what is left out; may be empty.
	Title, Note string
}

// lane is what one owner has held, or for how long it waits.
type lane struct {
	Owner string
	Label int
	Bars  []bar
}

// bar is one lease, one wait, or one hold after a loss.
type bar struct {
	// Kind is the class of its style: held, ended, lost, back, waits.
	Kind       string
	X, Width   float64
	Y, Height  int
	Sign, Says string
	SignX      float64
	SignY      int
	begin, end time.Time
}

type tick struct {
	X      float64
	Anchor string
	At     string
}

// signs are those of the ends of leases: not by the colour alone.
var signs = map[string]string{kindReleased: "", kindExpired: "✕", kindBroken: "!"}

// timeline draws the history, the holders and the queue; nil: there is none of them.
func (l *lock) timeline(now time.Time) *timeline {
	t := &timeline{To: now}
	lost := 0
	confirmed := make(map[uint64]time.Time)
	for _, h := range l.Holders {
		t.add(h.Owner, bar{Kind: "held", begin: now.Add(-h.Age), end: now,
			Says: fmt.Sprintf("%s holds it for %s with token %s", h.Owner, duration(h.Age), h.Range())})
	}
	for _, w := range l.Waiters {
		t.add(w.Owner, bar{Kind: "waits", begin: now.Add(-w.Waiting), end: now,
			Says: fmt.Sprintf("%s waits for %s, at place %d", w.Owner, duration(w.Waiting), w.Place)})
	}
	for _, c := range l.History.Rows { // newest first
		sign, ends := signs[c.Kind]
		switch {
		case c.Kind == kindConfirmed:
			confirmed[c.Token] = c.At
		case ends:
			b := bar{Kind: "ended", begin: c.At.Add(-c.Held), end: c.At, Sign: sign,
				Says: fmt.Sprintf("%s held it for %s with token %s, %s", c.Owner, duration(c.Held), c.Range(),
					cli.Reason(c.Kind, c.Reason))}
			if sign != "" {
				b.Kind, lost = "lost", lost+1
			}
			t.add(c.Owner, b)
			if c.HeldBack {
				end, over := confirmed[c.Token]
				if !over {
					end = now
				}
				t.add(c.Owner, bar{Kind: "back", begin: c.At, end: end,
					Says: fmt.Sprintf("held back for %s after the loss of token %s", duration(end.Sub(c.At)), c.Range())})
			}
		}
	}
	if len(t.Lanes) == 0 {
		return nil
	}
	t.draw()
	t.Title = fmt.Sprintf("Time line of %s over %s: %s by %s, %d lost; %s.", l.Name, duration(t.To.Sub(t.From)),
		plural(t.count("held")+t.count("ended")+t.count("lost"), "lease", "leases"),
		plural(len(t.Lanes), "owner", "owners"), lost, plural(l.Waiting, "request waits", "requests wait"))
	return t
}

// add adds a bar to the lane of an owner, as long as there are few.
func (t *timeline) add(owner string, b bar) {
	i := slices.IndexFunc(t.Lanes, func(l lane) bool { return l.Owner == owner })
	if i < 0 && len(t.Lanes) == maxLanes || t.bars() >= maxBars {
		t.Note = fmt.Sprintf("At most %d owners and %d leases are in the picture.", maxLanes, maxBars)
		return
	}
	if i < 0 {
		t.Lanes, i = append(t.Lanes, lane{Owner: owner}), len(t.Lanes)
	}
	t.Lanes[i].Bars = append(t.Lanes[i].Bars, b)
	if t.From.IsZero() || b.begin.Before(t.From) {
		t.From = b.begin
	}
}

func (t *timeline) bars() (n int) {
	for _, l := range t.Lanes {
		n += len(l.Bars)
	}
	return n
}

func (t *timeline) count(kind string) (n int) {
	for _, l := range t.Lanes {
		for _, b := range l.Bars {
			if b.Kind == kind {
				n++
			}
		}
	}
	return n
}

// draw places all of it.
func (t *timeline) draw() {
	all := max(t.To.Sub(t.From), time.Second)
	t.From = t.To.Add(-all)
	across := func(at time.Time) float64 {
		return min(max(float64(at.Sub(t.From))/float64(all), 0), 1) * 100
	}
	for i := range t.Lanes {
		l := &t.Lanes[i]
		l.Label = i*laneHeight + barTop - 5
		for j := range l.Bars {
			b := &l.Bars[j]
			b.Y, b.Height, b.SignY = i*laneHeight+barTop, barHeight, i*laneHeight+barTop+barHeight-2
			b.X = across(b.begin)
			b.Width, b.SignX = max(across(b.end)-b.X, 0), min(across(b.end), 98)
		}
	}
	t.Floor = len(t.Lanes) * laneHeight
	t.Height = t.Floor + axisHeight
	layout := "15:04:05"
	if all > 24*time.Hour {
		layout = "01-02 15:04"
	}
	for i := range ticks {
		at := t.From.Add(all * time.Duration(i) / (ticks - 1))
		t.Ticks = append(t.Ticks, tick{across(at), []string{"start", "middle", "end"}[i], at.UTC().Format(layout)})
	}
}

// Middle returns where the text of the axis stands.
func (t *timeline) Middle() int { return t.Floor + axisHeight - 6 }
