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

// An exchange looks up for its next attempt, or earlier if its time is over. When its patience is over, it gives up as
// soon as no attempt is under way: until then it would be woken again and again, and do nothing.
func TestExchangeIsWokenInTime(t *testing.T) {
	now, earlier := time.Now(), time.Now().Add(-time.Second)
	for name, c := range map[string]struct {
		exchange *Exchange
		want     time.Time
	}{
		"NoDeadline": {&Exchange{due: now}, now},
		"Later":      {&Exchange{due: now, deadline: now.Add(time.Second)}, now},
		"Earlier":    {&Exchange{due: now, deadline: earlier}, earlier},
		"NoPatience": {&Exchange{due: now, patience: earlier, obstacle: ErrNoResponders}, earlier},
		"NoPatienceAndAnAttemptUnderWay": {
			&Exchange{due: now, patience: earlier, obstacle: ErrNoResponders, open: []uint64{1}}, now,
		},
		"NoObstacle": {&Exchange{due: now, patience: earlier}, now},
	} {
		t.Run(name, func(t *testing.T) {
			c.exchange.s, c.exchange.GivesUp = &Sender{}, true
			if got := c.exchange.next(); !got.Equal(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
