package holdfast

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// Who hears that nobody is there looks elsewhere at once, unless a later try is still under way.
func TestNextTryAfterNobody(t *testing.T) {
	for name, c := range map[string]struct {
		open, nobody []uint64
		soon         bool
	}{
		"TheOnlyOne":     {[]uint64{1}, []uint64{1}, true},
		"TheLatest":      {[]uint64{1, 2}, []uint64{2}, true},
		"TheLatestFirst": {[]uint64{1, 2, 3}, []uint64{3, 1}, true},
		"AnEarlierOne":   {[]uint64{1, 2}, []uint64{1}, false},
		"All":            {[]uint64{1, 2}, []uint64{1, 2}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &exchange{open: c.open}
				for _, id := range c.nobody {
					x.came = append(x.came, answer{id: id, try: &try{}, msg: &nats.Msg{Header: nats.Header{"Status": {statusNobody}}}})
				}
				begun, timer := time.Now(), time.NewTimer(time.Hour)
				if a, done := x.sift(timer); done {
					t.Fatalf("taken for an answer: %v", a)
				}
				<-timer.C
				if soon := time.Since(begun) <= 2*firstRetry; soon != c.soon {
					t.Errorf("the next try comes after %v", time.Since(begun))
				}
			})
		})
	}
}
