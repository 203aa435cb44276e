package lease_test

import (
	"slices"
	"strings"
	"testing"
)

var secretRows = []row{
	{"release",
		"0s ann acquire hash=a",
		"100ms ann release token=1 secret=a",
		"RELEASED ann#1 1s; ann: RELEASED"},
	{"release again",
		"0s ann acquire hash=a; 100ms ann release token=1 secret=a",
		"200ms ann release token=1 secret=a",
		"ann: RELEASED"},
	{"extend",
		"0s ann acquire hash=a",
		"100ms ann extend secret=a",
		"EXTENDED ann#1 1s; ann: EXTENDED ann#1 1s/1s"},
	{"downgrade: the secret stays",
		"0s ann acquire hash=a; 100ms ann extend secret=a limit=5",
		"200ms ann release",
		"ann: NOT_OWNER ann#2[0]/5@2 900ms/1s"},
	{"set: the secret stays",
		"0s ann acquire hash=a; 100ms ann set secret=a meta=busy",
		"200ms ann set meta=idle",
		"ann: NOT_OWNER ann#1{busy} 800ms/1s"},
	{"a break needs none",
		"0s ann acquire hash=a",
		"100ms op break token=1",
		"BROKEN ann#1 1s; op: RELEASED"},
	{"of a lease that has none",
		"0s ann acquire",
		"100ms ann release secret=a",
		"RELEASED ann#1 1s; ann: RELEASED"},

	{"release without it",
		"0s ann acquire hash=a",
		"100ms ann release token=1",
		"ann: NOT_OWNER ann#1 900ms/1s"},
	{"release with another",
		"0s ann acquire hash=a",
		"100ms ann release token=1 secret=b",
		"ann: NOT_OWNER ann#1 900ms/1s"},
	{"extend without it",
		"0s ann acquire hash=a",
		"100ms ann extend token=1",
		"ann: NOT_OWNER ann#1 900ms/1s"},
	{"downgrade without it",
		"0s ann acquire hash=a",
		"100ms ann extend token=1 limit=5",
		"ann: NOT_OWNER ann#1 900ms/1s"},
	{"set without it",
		"0s ann acquire hash=a",
		"100ms ann set token=1 meta=busy",
		"ann: NOT_OWNER ann#1 900ms/1s"},
	{"how a lease ended is nobody else's business",
		"0s ann acquire hash=a; 1s node tick",
		"2s ann extend token=1",
		"ann: NOT_HELD"},
	{"nor is how a shared one ended",
		"0s ann acquire hash=a limit=5; 0s bob acquire limit=5 ttl=9s; 1s node tick",
		"2s ann extend token=1 secret=b",
		"ann: NOT_OWNER bob#2[1]/5@1 7s/9s"},
	{"but the owner's",
		"0s ann acquire hash=a limit=5; 0s bob acquire limit=5 ttl=9s; 1s node tick",
		"2s ann extend token=1 secret=a",
		"ann: EXPIRED"},

	{"the same request again",
		"0s ann acquire id=x hash=a",
		"100ms ann acquire id=x hash=a secret=a",
		"ann: GRANTED ann#1 900ms/1s"},
	{"the same request again, without the hash",
		"0s ann acquire id=x hash=a",
		"100ms ann acquire id=x secret=a",
		"ann: GRANTED ann#1 900ms/1s"},
	{"the same request again without it",
		"0s ann acquire id=x hash=a",
		"100ms ann acquire id=x hash=a wait=1s",
		"ann: NOT_OWNER ann#1 900ms/1s"},
	{"the same request again with another",
		"0s ann acquire id=x hash=a",
		"100ms ann acquire id=x hash=b secret=b",
		"ann: NOT_OWNER ann#1 900ms/1s"},
	{"late, after its release",
		"0s ann acquire id=x hash=a; 100ms ann release secret=a",
		"200ms ann acquire id=x hash=a secret=a",
		"ann: RELEASED ann#1"},
	{"late, after its release, without the hash",
		"0s ann acquire id=x hash=a; 100ms ann release secret=a",
		"200ms ann acquire id=x secret=a",
		"ann: RELEASED ann#1"},
	{"late, a copy of the first sending, which did not have it",
		"0s ann acquire id=x hash=a; 100ms ann release secret=a",
		"200ms ann acquire id=x hash=a",
		"ann: NOT_OWNER"},
	{"another secret and the id of a request that has ended: another request",
		"0s ann acquire id=x hash=a; 100ms ann release secret=a",
		"200ms ann acquire id=x hash=b secret=b",
		"ACQUIRED ann#2 1s; ann: GRANTED ann#2 1s/1s"},
	{"a waiting request again",
		"0s bob acquire; 0s ann acquire id=x hash=a wait=1s; 100ms ann acquire id=x hash=a secret=a wait=1s from=ann2",
		"200ms bob release",
		"RELEASED bob#1 1s; ACQUIRED ann#2 1s; ann2: GRANTED ann#2 1s/1s doubted; bob: RELEASED"},
	{"a waiting request again without it",
		"0s bob acquire; 0s ann acquire id=x hash=a wait=1s",
		"100ms ann acquire id=x hash=a wait=1s from=ann2",
		"ann2: NOT_OWNER bob#1 900ms/1s waiting=1; queue=1"},
	{"a waiting request again without it and without a wait",
		"0s bob acquire; 0s ann acquire id=x hash=a wait=1s",
		"100ms ann acquire id=x from=ann2",
		"ann2: NOT_OWNER bob#1 900ms/1s waiting=1; queue=1"},

	{"withdraw",
		"0s bob acquire; 0s ann acquire id=x hash=a wait=1s",
		"100ms ann release id=x secret=a from=ann2",
		"ann: CANCELLED; ann2: CANCELLED"},
	{"withdraw without it: as of a request that is not known",
		"0s bob acquire; 0s ann acquire id=x hash=a wait=1s",
		"100ms ann release id=x from=ann2",
		"ann2: NOT_HELD waiting=1; queue=1"},
	{"withdraw without it, with a token",
		"0s bob acquire; 0s ann acquire id=x hash=a wait=1s",
		"100ms ann release id=x token=1 secret=b from=ann2",
		"ann2: NOT_OWNER bob#1 900ms/1s waiting=1; queue=1"},
	{"withdrawn before it comes",
		"0s ann release id=x secret=a",
		"100ms ann acquire id=x hash=a",
		"ann: CANCELLED"},
	{"release of a granted request",
		"0s ann acquire id=x hash=a",
		"100ms ann release id=x secret=a",
		"RELEASED ann#1 1s; ann: RELEASED"},
	{"release of a granted request without it",
		"0s ann acquire id=x hash=a",
		"100ms ann release id=x",
		"ann: NOT_HELD"},
	{"release of a request that had none, again",
		"0s ann acquire id=x; 100ms ann release id=x secret=a",
		"200ms ann release id=x secret=a",
		"ann: RELEASED"},

	{"reentrant",
		"0s ann acquire hash=a",
		"100ms ann acquire reentrant hash=a secret=a",
		"EXTENDED ann#1 1s; ann: GRANTED ann#1 1s/1s"},
	{"reentrant without it: as another owner",
		"0s ann acquire hash=a",
		"100ms ann acquire reentrant hash=a",
		"ann: HELD ann#1 900ms/1s"},
	{"reentrant, late, after the lease that it shared",
		"0s ann acquire id=x hash=a; 100ms ann acquire id=y reentrant hash=a secret=a; 200ms ann release secret=a",
		"300ms ann acquire id=y reentrant hash=a secret=a",
		"ann: RELEASED ann#1"},
}

// TestWrongSecretIsAnotherOwner asks for all that needs a secret, without it and with another, and as another owner:
// the answers and what is left are the same, whatever has happened to the lease.
func TestWrongSecretIsAnotherOwner(t *testing.T) {
	befores := []string{
		"0s ann acquire id=x hash=a",
		"0s ann acquire id=x hash=a limit=5 permits=2",
		"0s ann acquire id=x hash=a limit=5; 0s bob acquire limit=5",
		"0s bob acquire limit=5; 0s ann acquire id=x hash=a limit=5",
		"0s ann acquire id=x hash=a; 50ms ann extend limit=5 secret=a",
		"0s ann acquire id=x hash=a; 50ms bob acquire wait=1s",
		"0s bob acquire; 50ms ann acquire id=x hash=a wait=1s",
		"0s ann acquire id=x hash=a; 50ms ann release token=1 secret=a",
		"0s ann acquire id=x hash=a; 50ms ann release token=1 secret=a; 60ms bob acquire",
		"0s ann acquire id=x hash=a ttl=50ms; 60ms node tick",
		"0s ann acquire id=x hash=a limit=5 ttl=50ms; 0s bob acquire limit=5; 60ms node tick",
		"0s ann acquire id=x hash=a; 50ms op break token=1",
		"0s ann acquire id=x hash=a; 50ms ann release token=1 secret=a; 60ms node takeover",
	}
	asks := []string{
		"release", "release token=1", "release token=2", "release id=x", "release id=x token=1",
		"extend", "extend token=1", "extend limit=9", "set meta=busy", "set token=1 meta=busy",
		"acquire", "acquire reentrant", "acquire reentrant wait=1s", "acquire reentrant limit=5", "acquire wait=1s",
	}
	for _, before := range befores {
		for _, ask := range asks {
			given := before + "; 70ms node tick"
			foreign := playOut(t, mustParse(given))
			want := said(foreign.step(t, mustParse("100ms cid " + ask + " from=sender").steps[0]))
			for _, secret := range []string{"", " secret=b"} {
				p := playOut(t, mustParse(given))
				got := said(p.step(t, mustParse("100ms ann " + ask + secret + " from=sender").steps[0]))
				for i := range got {
					got[i] = strings.ReplaceAll(got[i], "sender: GRANTED ann", "sender: GRANTED cid")
					if strings.HasPrefix(got[i], "ACQUIRED ann") {
						got[i] = strings.Replace(got[i], "ann", "cid", 1)
					}
				}
				if !slices.Equal(got, want) || p.state.Waiting() != foreign.state.Waiting() {
					t.Errorf("%s; ann %s%s\n\tgot  %q\n\twant %q", before, ask, secret, got, want)
				}
			}
		}
	}
}
