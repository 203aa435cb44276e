package lease_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// The shortest hold of a lease, and what ends the rest of it.
var holdRows = []row{
	{"release", "0s ann acquire hold=500ms", "100ms ann release", "RELEASED ann#1 1s rests=400ms; ann: RELEASED"},
	{"release after it", "0s ann acquire hold=500ms", "500ms ann release", "RELEASED ann#1 1s; ann: RELEASED"},
	{"it is longer than the lease", "0s ann acquire hold=5s", "1s bob acquire",
		"EXPIRED ann#1 1s rests=4s; bob: HELD_BACK ann#1 0s/1s left=4s"},
	{"it is not longer than the lease", "0s ann acquire hold=1s", "1s bob acquire",
		"EXPIRED ann#1 1s; ACQUIRED bob#2 1s; bob: GRANTED bob#2 1s/1s"},
	{"break", "0s ann acquire hold=500ms", "100ms op break token=1 why=stuck",
		`BROKEN ann#1 1s rests=400ms "stuck"; op: RELEASED`},
	{"an extension does not begin it anew", "0s ann acquire hold=500ms; 200ms ann extend ttl=2s", "300ms ann release",
		"RELEASED ann#1 2s rests=200ms; ann: RELEASED"},
	{"a set does not begin it anew", "0s ann acquire hold=500ms; 200ms ann set meta=busy", "300ms ann release",
		"RELEASED ann#1{busy} 1s rests=200ms; ann: RELEASED"},
	{"what is left is rounded up", "0s ann acquire hold=500ms", "99.999999ms ann release",
		"RELEASED ann#1 1s rests=401ms; ann: RELEASED"},
	{"of a lease that waited it begins with the grant",
		"0s ann acquire; 0s bob acquire hold=500ms wait=5s; 1s node tick", "1.1s bob release",
		"RELEASED bob#2 1s rests=400ms; bob: RELEASED"},
	{"of a block", "0s ann acquire hold=500ms tokens=4; 0s ann extend tokens=8", "100ms ann release",
		"RELEASED ann#1..8 1s rests=400ms; ann: RELEASED"},

	{"nothing is granted while it rests", "0s ann acquire hold=500ms; 100ms ann release", "200ms bob acquire",
		"bob: HELD_BACK ann#1 0s/1s left=300ms"},
	{"get", "0s ann acquire hold=500ms; 100ms ann release", "200ms op get", "op: HELD_BACK ann#1 0s/1s left=300ms"},
	{"a shared request waits, too", "0s ann acquire hold=500ms; 100ms ann release", "200ms bob acquire limit=3 wait=1s",
		"queue=1"},
	{"granted when it is over", "0s ann acquire hold=500ms; 100ms ann release", "500ms bob acquire",
		`CONFIRMED ann#1 1s "the shortest hold is over"; ACQUIRED bob#2 1s; bob: GRANTED bob#2 1s/1s`},
	{"not before", "0s ann acquire hold=500ms; 100ms ann release", "499.999999ms bob acquire",
		"bob: HELD_BACK ann#1 0s/1s left=1ms"},
	{"requests that wait are granted when it is over",
		"0s ann acquire hold=500ms; 0s bob acquire wait=5s limit=2; 100ms ann release; " +
			"200ms cid acquire wait=5s limit=2",
		"500ms node tick",
		`CONFIRMED ann#1 1s "the shortest hold is over"
		 ACQUIRED bob#2[0]/2@2 1s
		 ACQUIRED cid#3[1]/2@2 1s
		 bob: GRANTED bob#2[0]/2@2 1s/1s waiting=1 doubted
		 cid: GRANTED cid#3[1]/2@2 1s/1s doubted`},
	{"a wait ends while it rests", "0s ann acquire hold=5s; 0s bob acquire wait=500ms; 100ms ann release",
		"500ms node tick",
		"bob: TIMEOUT"},
	{"its owner does not take it back", "0s ann acquire hold=500ms; 100ms ann release", "200ms ann acquire",
		"ann: HELD_BACK ann#1 0s/1s left=300ms"},
	{"its owner does not take it back after a break", "0s ann acquire hold=500ms; 100ms op break token=1",
		"200ms ann acquire reentrant",
		"ann: HELD_BACK ann#1 0s/1s left=300ms"},
	{"its owner does not take it back after a loss", "0s ann acquire hold=5s delay=9s; 1s node tick", "2s ann acquire",
		"ann: HELD_BACK ann#1 0s/1s left=8s"},
	{"its owner takes it back when only the delay is not over", "0s ann acquire hold=5s delay=9s; 1s node tick",
		"5s ann acquire",
		`CONFIRMED ann#1 1s "taken back by its owner"; ACQUIRED ann#2 1s; ann: GRANTED ann#2 1s/1s`},

	{"the delay ends later", "0s ann acquire hold=2s delay=5s; 1s bob acquire wait=9s", "6s node tick",
		`CONFIRMED ann#1 1s "the delay is over"; ACQUIRED bob#2 1s; bob: GRANTED bob#2 1s/1s doubted`},
	{"the shortest hold ends later", "0s ann acquire hold=9s delay=5s; 1s bob acquire wait=9s", "9s node tick",
		`CONFIRMED ann#1 1s "the shortest hold is over"; ACQUIRED bob#2 1s; bob: GRANTED bob#2 1s/1s doubted`},
	{"the shortest hold ends later, and the delay is over", "0s ann acquire hold=9s delay=5s; 1s node tick",
		"7s bob acquire",
		"bob: HELD_BACK ann#1 0s/1s left=2s"},
	{"the loss holds back, and it rests", "0s ann acquire hold=9s delay=5s", "1s node tick",
		"EXPIRED ann#1 1s back rests=8s"},
	{"after a release only the shortest hold counts", "0s ann acquire hold=2s delay=5s confirmed", "900ms ann release",
		"RELEASED ann#1 1s rests=1.1s; ann: RELEASED"},

	{"the loss is confirmed: the rest stays", "0s ann acquire hold=5s confirmed; 1s node tick", "2s op confirm token=1",
		`CONFIRMED ann#1 1s rests=3s "op"; op: RELEASED`},
	{"the loss is confirmed after it", "0s ann acquire hold=2s confirmed; 1s node tick", "3s op confirm token=1",
		`CONFIRMED ann#1 1s "op"; op: RELEASED`},
	{"the loss is confirmed before its delay is over", "0s ann acquire hold=3s delay=9s; 1s node tick",
		"2s op confirm token=1",
		`CONFIRMED ann#1 1s rests=1s "op"; op: RELEASED`},
	{"the loss is confirmed: nothing is granted yet",
		"0s ann acquire hold=5s confirmed; 1s bob acquire wait=9s; 2s op confirm token=1", "2s cid acquire",
		"cid: HELD_BACK ann#1 0s/1s left=3s waiting=1; queue=1"},
	{"the loss is confirmed again: the rest stays",
		"0s ann acquire hold=5s confirmed; 1s node tick; 2s op confirm token=1", "3s op confirm token=1",
		"op: RELEASED"},
	{"the loss is confirmed, and it is over",
		"0s ann acquire hold=5s confirmed; 1s bob acquire wait=9s; 2s op confirm token=1; 3s op confirm token=1",
		"5s node tick",
		`CONFIRMED ann#1 1s "the shortest hold is over"; ACQUIRED bob#2 1s; bob: GRANTED bob#2 1s/1s doubted`},
	{"a loss that is to be confirmed has no end, whatever rests", "0s ann acquire hold=5s confirmed; 1s node tick",
		"9s op get",
		"op: HELD_BACK ann#1 0s/1s until confirmed"},
	{"the owner of a confirmed loss does not take it back",
		"0s ann acquire hold=5s delay=9s; 1s node tick; 2s op confirm token=1", "2s ann acquire",
		"ann: HELD_BACK ann#1 0s/1s left=3s"},

	{"the rest is confirmed after a release", "0s ann acquire hold=500ms; 0s bob acquire wait=5s; 100ms ann release",
		"200ms op confirm token=1 why=done",
		`CONFIRMED ann#1 1s "op: done"; ACQUIRED bob#2 1s; bob: GRANTED bob#2 1s/1s doubted; op: RELEASED`},
	{"the rest is confirmed after a break", "0s ann acquire hold=500ms; 100ms op break token=1",
		"200ms op confirm token=1",
		`CONFIRMED ann#1 1s "op"; op: RELEASED`},
	{"the rest is confirmed after it expired", "0s ann acquire hold=5s; 1s node tick", "2s op confirm token=1",
		`CONFIRMED ann#1 1s "op"; op: RELEASED`},
	{"the rest is confirmed by another token of the block", "0s ann acquire hold=5s tokens=4; 500ms ann release",
		"1s op confirm token=3",
		`CONFIRMED ann#1..4 1s "op"; op: RELEASED`},
	{"the rest is confirmed again", "0s ann acquire hold=500ms; 100ms ann release; 200ms op confirm token=1",
		"300ms op confirm token=1",
		"op: RELEASED"},
	{"the rest is confirmed when it is over", "0s ann acquire hold=500ms; 100ms ann release", "500ms op confirm token=1",
		`CONFIRMED ann#1 1s "the shortest hold is over"; op: RELEASED`},
	{"confirmed with another token while it rests", "0s ann acquire hold=500ms; 100ms ann release",
		"200ms op confirm token=2",
		"op: STALE_TOKEN ann#1 300ms/1s"},
	{"confirmed while it is held", "0s ann acquire hold=500ms", "100ms op confirm token=1",
		"op: STALE_TOKEN ann#1 900ms/1s"},

	{"released again while it rests", "0s ann acquire hold=500ms; 100ms ann release", "200ms ann release token=1",
		"ann: RELEASED"},
	{"released again after the rest", "0s ann acquire hold=500ms; 100ms ann release; 500ms node tick",
		"600ms ann release token=1",
		"ann: RELEASED"},
	{"released again after a confirm", "0s ann acquire hold=500ms; 100ms ann release; 200ms op confirm token=1",
		"600ms ann release token=1",
		"ann: RELEASED"},
	{"released after it expired, while it rests", "0s ann acquire hold=5s; 1s node tick", "2s ann release token=1",
		"ann: EXPIRED"},
	{"released after it expired, after the rest", "0s ann acquire hold=5s; 1s node tick; 5s node tick",
		"5s ann release token=1",
		"ann: EXPIRED"},
	{"extended while it rests", "0s ann acquire hold=500ms; 100ms ann release", "200ms ann extend token=1",
		"ann: NOT_HELD"},
	{"extended after the rest", "0s ann acquire hold=500ms; 100ms ann release; 500ms node tick",
		"600ms ann extend token=1",
		"ann: NOT_HELD"},
	{"set while it rests", "0s ann acquire hold=500ms; 100ms ann release", "200ms ann set meta=busy", "ann: NOT_HELD"},
	{"extended after it expired, while it rests", "0s ann acquire hold=5s; 1s node tick", "2s ann extend token=1",
		"ann: EXPIRED"},
	{"of another owner, while it rests", "0s ann acquire hold=500ms; 100ms ann release", "200ms bob release",
		"bob: NOT_HELD"},
	{"broken while it rests", "0s ann acquire hold=500ms; 100ms ann release", "200ms op break token=1", "op: NOT_HELD"},
	{"broken again while it rests", "0s ann acquire hold=500ms; 100ms op break token=1", "200ms op break token=1",
		"op: RELEASED"},
	{"the same request again, while it rests", "0s ann acquire hold=500ms id=x; 100ms ann release",
		"200ms ann acquire hold=500ms id=x",
		"ann: RELEASED ann#1"},
	{"the same request again, after the rest", "0s ann acquire hold=500ms id=x; 100ms ann release",
		"500ms ann acquire hold=500ms id=x",
		`CONFIRMED ann#1 1s "the shortest hold is over"; ann: RELEASED ann#1`},
	{"the same request again, after a change of owner and the rest",
		"0s ann acquire hold=500ms id=x; 100ms ann release; 200ms node takeover; 500ms node tick; 500ms bob acquire",
		"600ms ann acquire hold=500ms id=x",
		"ann: RELEASED ann#1"},

	{"no downgrade", "0s ann acquire hold=500ms", "1s ann extend limit=3", "EXPIRED ann#1 1s; ann: EXPIRED"},
	{"no downgrade, also after it", "0s ann acquire hold=500ms ttl=5s", "1s ann extend limit=3", "ann: INVALID"},
	{"limit 1 is no downgrade", "0s ann acquire hold=500ms", "0s ann extend limit=1",
		"EXTENDED ann#1 1s; ann: EXTENDED ann#1 1s/1s"},

	{"the client was gone: nothing is left",
		"0s ann acquire; 0s bob acquire wait=1s hold=5s; 0s cid acquire wait=1s; 0s ann release",
		"100ms node undeliverable token=2",
		`RELEASED bob#2 1s "the client was gone"; ACQUIRED cid#3 1s; cid: GRANTED cid#3 1s/1s doubted`},
	{"withdrawn: nothing is left", "0s ann acquire hold=5s id=x", "100ms ann release id=x",
		"RELEASED ann#1 1s; ann: RELEASED"},
	{"withdrawn with its token: it rests", "0s ann acquire hold=5s id=x", "100ms ann release id=x token=1",
		"RELEASED ann#1 1s rests=4.9s; ann: RELEASED"},
	{"withdrawn while it rests: that stays", "0s ann acquire hold=5s id=x; 100ms ann release token=1",
		"200ms ann release id=x",
		"ann: RELEASED"},
	{"withdrawn while it rests, and then",
		"0s ann acquire hold=5s id=x; 100ms ann release token=1; 200ms ann release id=x", "200ms op get",
		"op: HELD_BACK ann#1 0s/1s left=4.8s"},
	{"dismissed while it rests", "0s ann acquire hold=5s; 0s bob acquire wait=5s; 100ms ann release",
		"200ms node dismiss why=moving",
		"bob: UNAVAILABLE"},
}

// A new owner lets run again what was left of a shortest hold when its lease ended, and to which a shard is handed over
// what is left of that. Of a lease that is held it begins anew.
func TestShortestHoldOfANewOwner(t *testing.T) {
	const at, again = lease.Instant(time.Hour), lease.Instant(2 * time.Hour)
	for _, tc := range []struct {
		given string // until at
		// rest is for how long nothing is granted after an unplanned change of owner, handed after a planned one.
		rest, handed time.Duration
	}{
		{"3597s ann acquire hold=9s; 3598s ann release", 8 * time.Second, 6 * time.Second},
		{"3590s ann acquire hold=19s ttl=9s; 3599s node tick", 10 * time.Second, 9 * time.Second},
		{"3595s ann acquire hold=9s delay=3s; 3596s node tick", 8 * time.Second, 4 * time.Second},
		{"3595s ann acquire hold=6s delay=8s; 3596s node tick", 8 * time.Second, 4 * time.Second},
		{"3595s ann acquire hold=9s confirmed; 3597s op confirm token=1", 7 * time.Second, 4 * time.Second},
		{"3595s ann acquire hold=9s; 3598s ann release; 3599s op confirm token=1", 0, 0},
		{"3580s ann acquire hold=9s; 3580s ann release; 3599s node tick", 0, 0},
	} {
		image := playOut(t, mustParse(tc.given)).state.Image()
		left := lease.Left{}
		left.PutImage(at, &image)
		for _, change := range []struct {
			left lease.Left
			want time.Duration
		}{{nil, tc.rest}, {left, tc.handed}} {
			anew := image.Clone()
			anew.Restart(again, change.left)
			got := time.Duration(0)
			if anew.HeldBack() {
				got = anew.Soonest().Sub(again)
			}
			if got != change.want {
				t.Errorf("%s, handed over %v: nothing is granted for %v, want %v", tc.given, change.left, got,
					change.want)
			}
		}
	}
	image := playOut(t, mustParse("3597s ann acquire hold=9s ttl=5s")).state.Image()
	left := lease.Left{}
	left.PutImage(at, &image)
	image.Restart(again, left)
	if got := image.Last(); got.Rest != again.Add(9*time.Second) || got.Deadline != again.Add(2*time.Second) {
		t.Errorf("held: %+v", got)
	}
}
