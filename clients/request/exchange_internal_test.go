package request

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// After a report of no responders the next attempt is soon, unless a later one is still under way.
func TestNextAttemptAfterNoResponders(t *testing.T) {
	for name, c := range map[string]struct {
		open, refused []uint64
		soon          bool
	}{
		"TheOnlyOne":     {[]uint64{1}, []uint64{1}, true},
		"TheLatest":      {[]uint64{1, 2}, []uint64{2}, true},
		"TheLatestFirst": {[]uint64{1, 2, 3}, []uint64{3, 1}, true},
		"AnEarlierOne":   {[]uint64{1, 2}, []uint64{1}, false},
		"All":            {[]uint64{1, 2}, []uint64{1, 2}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &Exchange{open: c.open, due: time.Now().Add(time.Hour)}
				for _, id := range c.refused {
					x.came = append(x.came, &Answer{ID: id,
						msg: &nats.Msg{Header: nats.Header{"Status": {statusNoResponders}}}})
				}
				if a := x.sift(); a != nil {
					t.Fatalf("taken for an answer: %v", a)
				}
				if soon := time.Until(x.due) <= 2*firstRetry; soon != c.soon {
					t.Errorf("the next attempt comes after %v", time.Until(x.due))
				}
			})
		})
	}
}

// An exchange looks up for its next attempt, or earlier if its time is over.
func TestExchangeIsWokenInTime(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct{ deadline, want time.Time }{
		"NoDeadline": {time.Time{}, now},
		"Later":      {now.Add(time.Second), now},
		"Earlier":    {now.Add(-time.Second), now.Add(-time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			x := &Exchange{due: now, deadline: c.deadline}
			if got := x.next(); !got.Equal(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
