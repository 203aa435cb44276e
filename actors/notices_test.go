package actors_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// ear is a client that hears what goes to the subject of its session.
type ear struct {
	mu      sync.Mutex
	probes  int
	notices []actors.Notice
}

func (e *ear) Probe(actors.Probe) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.probes++
}

func (e *ear) Notify(n actors.Notice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notices = append(e.notices, n)
}

// probed returns how many probes have come since the last call.
func (e *ear) probed() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, e.probes = e.probes, 0
	return n
}

// take returns the notices that have come since the last call, in words.
func (e *ear) take() string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	words := make([]string, len(e.notices))
	for i, n := range e.notices {
		words[i] = fmt.Sprintf("%s: %s#%d %d", n.Subject, n.Notice.GetResource(), n.Notice.GetToken(), n.Notice.GetWaiting())
		if n.Notice.GetEnded() {
			words[i] += " ended"
		}
	}
	e.notices = nil
	return strings.Join(words, "; ")
}

// want checks which notices have come since the last call.
func (e *ear) want(w *world, when, want string) {
	w.Helper()
	if got := e.take(); got != want {
		w.Errorf("%s: the notices are %q, want %q", when, got, want)
	}
}

// withEar runs test with an open shard and a client that holds r in the session.
func withEar(t *testing.T, test func(w *world, e *ear)) {
	t.Helper()
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		e := &ear{}
		w.prober = e
		w.open()
		w.want(messages.Status_GRANTED, 1, "r", inSession())
		test(w, e)
	})
}

// noticing is a keep that asks for notices.
func noticing() lease.Keep {
	return lease.Keep{MaxWanted: messages.MaxWanted, Request: &messages.KeepRequest{
		TtlMs: 10_000, Alive: "_INBOX.ann", Notices: true,
	}}
}

// try is an acquire by bob that does not wait.
func try() lease.Acquire { return acquire("bob", time.Minute) }

// wantWanted keeps the session and checks what the answer names.
func (w *world) wantWanted(k lease.Keep, want ...string) {
	w.Helper()
	r := w.ask(sessionID, k)
	if w.check(r, messages.Status_EXTENDED, 0); !slices.Equal(r.GetWanted(), want) {
		w.Errorf("wanted are %q, want %q", r.GetWanted(), want)
	}
}

// The notices of a lease come at once, once a second while requests wait or are refused, and not longer; its last one
// comes when an operator has broken the lease, and that is stored.
func TestNoticesOfALease(t *testing.T) {
	withEar(t, func(w *world, e *ear) {
		w.wantWanted(noticing())
		w.want(messages.Status_HELD, 1, "r", try())
		e.want(w, "a refusal", "_INBOX.ann: r#1 0")
		w.pass(time.Second - 1)
		w.send("r", waiting(time.Minute, 3*time.Second))
		w.send("r", waiting(time.Minute, 2*time.Second))
		e.want(w, "within a second", "")
		w.pass(1)
		e.want(w, "after a second", "_INBOX.ann: r#1 2")
		w.wantWanted(noticing(), "r")
		w.pass(2 * time.Second)
		e.want(w, "while requests wait", "_INBOX.ann: r#1 2; _INBOX.ann: r#1 1")
		w.pass(4 * time.Second)
		e.want(w, "when nobody waits", "")
		w.wantWanted(noticing())

		letGo := w.hold()
		w.send("r", lease.Break{Request: &messages.BreakRequest{Token: 1}})
		e.want(w, "before the break is stored", "")
		letGo(nil)
		e.want(w, "a break", "_INBOX.ann: r#1 0 ended")
		w.pass(2 * time.Second)
		e.want(w, "after the break", "")
	})
}

// A lease that lives in memory is broken, too.
func TestNoticeOfABrokenEphemeralLease(t *testing.T) {
	withEar(t, func(w *world, e *ear) {
		a := inSession()
		a.Request.Durability = messages.Durability_EPHEMERAL
		w.want(messages.Status_GRANTED, 1, "e", a)
		w.wantWanted(noticing())
		w.want(messages.Status_RELEASED, 0, "e", lease.Break{Request: &messages.BreakRequest{Token: 1}})
		e.want(w, "a break", "_INBOX.ann: e#1 0 ended")
		w.want(messages.Status_GRANTED, 2, "e", a)
		w.want(messages.Status_RELEASED, 0, "e", release("ann"))
		e.want(w, "a release", "")
	})
}

// Who does not ask for notices, says no subject, or has not the secret of the session, gets none, and what an earlier
// keep has set stays only in the last case.
func TestWhoGetsNoNotices(t *testing.T) {
	const secret = "0123456789abcdef"
	for name, test := range map[string]struct {
		change func(*messages.KeepRequest)
		before bool   // an earlier keep asks, on another subject
		heard  string // of a refusal
		wanted []string
	}{
		"asks":                    {func(*messages.KeepRequest) {}, false, "_INBOX.ann: r#1 0", []string{"r"}},
		"asks elsewhere":          {func(*messages.KeepRequest) {}, true, "_INBOX.ann: r#1 0", []string{"r"}},
		"does not ask":            {func(r *messages.KeepRequest) { r.Notices = false }, false, "", nil},
		"asks no more":            {func(r *messages.KeepRequest) { r.Notices = false }, true, "", nil},
		"asks to be probed only":  {func(r *messages.KeepRequest) { r.Notices, r.DisconnectMs = false, 5000 }, true, "", nil},
		"no subject":              {func(r *messages.KeepRequest) { r.Alive = "" }, false, "", []string{"r"}},
		"no subject any more":     {func(r *messages.KeepRequest) { r.Alive = "" }, true, "", []string{"r"}},
		"no secret":               {func(r *messages.KeepRequest) { r.Secret = nil }, false, "", nil},
		"no secret, after a keep": {func(r *messages.KeepRequest) { r.Secret = nil }, true, "_INBOX.first: r#1 0", nil},
		"no secret, and does not ask": {func(r *messages.KeepRequest) { r.Secret, r.Notices = nil, false }, true,
			"_INBOX.first: r#1 0", nil},
		"another secret":            {func(r *messages.KeepRequest) { r.Secret = []byte(secret + "f") }, false, "", nil},
		"another one, after a keep": {func(r *messages.KeepRequest) { r.Secret = []byte(secret + "f") }, true, "_INBOX.first: r#1 0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			inClosedWorld(t, actors.Tuning{}, func(w *world) {
				e := &ear{}
				w.prober = e
				w.open()
				a := inSession()
				a.Request.SecretHash = messages.HashSecret([]byte(secret))
				w.want(messages.Status_GRANTED, 1, "r", a)
				if test.before {
					first := noticing()
					first.Request.Secret, first.Request.Alive = []byte(secret), "_INBOX.first"
					w.wantWanted(first)
				}
				k := noticing()
				k.Request.Secret = []byte(secret)
				test.change(k.Request)
				w.wantWanted(k)
				w.want(messages.Status_HELD, 1, "r", try())
				e.want(w, "a refusal", test.heard)
				w.wantWanted(k, test.wanted...)
			})
		})
	}
}

// A notice has the encoding of the latest keep, and the name of a tenant's resource without the tenant.
func TestNoticeIsForTheTenant(t *testing.T) {
	const tenant = "ORDERS"
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		e := &ear{}
		w.prober = e
		w.open()
		a, id := inSession(), messages.Qualify(tenant, sessionID)
		a.Request.Session = id
		w.want(messages.Status_GRANTED, 1, messages.Qualify(tenant, "r"), a)
		for _, encoding := range []messages.Encoding{messages.Protobuf, messages.JSON} {
			k := noticing()
			k.From = messages.ReplyTo{Subject: "_INBOX.k", Encoding: encoding}
			if _, err := w.shard.SendAll([]actors.Request{{Resource: id, Event: k}}); err != nil {
				t.Fatal(err)
			}
			w.want(messages.Status_HELD, 1, messages.Qualify(tenant, "r"), try())
			if len(e.notices) != 1 || e.notices[0].Encoding != encoding || e.notices[0].Notice.GetResource() != "r" {
				t.Errorf("the notices are %v, want one about r in %v", e.notices, encoding)
			}
			e.take()
			w.pass(time.Second)
		}
		r := w.ask(id, noticing())
		if !slices.Equal(r.GetWanted(), []string{"r"}) {
			t.Errorf("wanted are %q", r.GetWanted())
		}
	})
}

// A new owner knows nothing of notices until the next keep, and then of those who wait.
func TestNoticesAfterAChangeOfOwner(t *testing.T) {
	withEar(t, func(w *world, e *ear) {
		w.wantWanted(noticing())
		w.want(messages.Status_HELD, 1, "r", try())
		e.want(w, "a refusal", "_INBOX.ann: r#1 0")
		w.reopen()
		w.want(messages.Status_HELD, 1, "r", try())
		e.want(w, "a refusal by a new owner", "")
		w.wantWanted(noticing())
		w.reopen()
		w.send("r", waiting(time.Minute, time.Hour))
		w.pass(2 * time.Second)
		e.want(w, "a wait at a new owner", "")
		w.wantWanted(noticing(), "r")
		e.want(w, "the next keep", "_INBOX.ann: r#1 1")
	})
}

// A keep that waits until a raised TTL is recorded names what is wanted, and no more than it may.
func TestWantedOfAKeepThatWaits(t *testing.T) {
	withEar(t, func(w *world, _ *ear) {
		w.want(messages.Status_GRANTED, 1, "s", inSession())
		w.wantWanted(noticing())
		for _, resource := range []string{"r", "s"} {
			w.want(messages.Status_HELD, 1, resource, try())
		}
		k := noticing()
		k.Request.TtlMs, k.MaxWanted = 20_000, 1
		w.wantWanted(k, "r")
		w.wantWanted(noticing(), "s")
		w.wantWanted(noticing())
	})
}

// Notices do not take the place of probes, and begin none.
func TestNoticesAndProbes(t *testing.T) {
	withEar(t, func(w *world, e *ear) {
		wantProbes := func(when string, want int) {
			t.Helper()
			if got := e.probed(); got != want {
				t.Errorf("%s: %d probes, want %d", when, got, want)
			}
		}
		k := noticing()
		w.wantWanted(k)
		w.send("r", waiting(time.Minute, 5*time.Second))
		w.pass(time.Second)
		wantProbes("without a keep that asks for them", 0)
		e.take()
		k.Request.DisconnectMs = 5000
		w.wantWanted(k, "r")
		w.want(messages.Status_HELD, 1, "r", try())
		w.pass(2 * time.Second)
		wantProbes("one at once, and one each second", 3)
		e.want(w, "beside probes", "_INBOX.ann: r#1 1; _INBOX.ann: r#1 1")
		w.pass(5 * time.Second)
		e.take()
		e.probed()
		w.want(messages.Status_HELD, 1, "r", try())
		w.pass(2 * time.Second)
		wantProbes("nobody waits", 0)
		e.want(w, "a refusal", "_INBOX.ann: r#1 0")
		k.Request.Notices = false
		w.wantWanted(k)
		w.want(messages.Status_RELEASED, 0, "r", lease.Break{Request: &messages.BreakRequest{Token: 1}})
		e.want(w, "a break, to a client that is probed only", "")
	})
}

// A client that asked to be probed and does not any more is not found disconnected by the last probe.
func TestLateReportOfAProbe(t *testing.T) {
	withEar(t, func(w *world, _ *ear) {
		d := &probeBook{}
		w.prober = d
		w.reopen()
		k := noticing()
		k.Request.DisconnectMs = 5000
		w.wantWanted(k)
		w.send("r", waiting(time.Minute, time.Hour))
		w.pass(6 * time.Second)
		w.wantWanted(noticing(), "r")
		for _, p := range d.probes {
			w.shard.NoListener(p.Session, p.Number)
		}
		w.pass(time.Second)
		w.want(messages.Status_HELD, 1, "r", get())
		w.wantWanted(noticing(), "r")
	})
}

// probeBook keeps probes.
type probeBook struct{ probes []actors.Probe }

func (d *probeBook) Probe(p actors.Probe) { d.probes = append(d.probes, p) }

func (*probeBook) Notify(actors.Notice) {}

// More notices than one turn sends follow in the next ones.
func TestManyNotices(t *testing.T) {
	const leases = 600
	withEar(t, func(w *world, e *ear) {
		for i := range leases {
			w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), inSession())
			w.send(fmt.Sprint("r", i), waiting(time.Minute, time.Hour))
		}
		w.wantWanted(keep(10 * time.Second))
		w.ask(sessionID, noticing())
		for range 3 {
			all := strings.Split(e.take(), "; ")
			slices.Sort(all)
			if n := len(slices.Compact(all)); n != leases {
				t.Fatalf("%d notices, want one for each of %d leases", n, leases)
			}
			w.pass(time.Second)
		}
	})
}

// A break that is not stored is none.
func TestNoNoticeOfABreakThatIsLost(t *testing.T) {
	withEar(t, func(w *world, e *ear) {
		w.wantWanted(noticing())
		letGo := w.hold()
		w.send("r", lease.Break{Request: &messages.BreakRequest{Token: 1}})
		letGo(journal.ErrConflict)
		e.want(w, "a break that is lost", "")
	})
}
