package lease_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// move is a step before it is known what is so when it comes: "one nanosecond before the deadline",
// "the token before the present one". Each byte chooses from a list, the first being the simplest.
type move struct{ verb, who, when, token, ttl, wait, id, how, share, secret, back byte }

// GoString keeps what rapid prints short: the script says it better.
func (m move) GoString() string {
	return fmt.Sprintf("%02x", []byte{m.verb, m.who, m.when, m.token, m.ttl, m.wait, m.id, m.how, m.share, m.secret,
		m.back})
}

const (
	moveBytes = 11
	ms        = time.Millisecond
)

var (
	verbs = []string{
		"", // nothing happens: this is how a script shrinks
		"acquire", "acquire", "acquire", "acquire", "acquire", "acquire", "acquire", "acquire",
		"release", "release", "release", "release", "extend", "extend", "extend", "extend", "set", "set", "set",
		"break", "break", "confirm", "confirm", "get", "undeliverable", "undeliverable", "tick", "dismiss", "surrender",
		"takeover", "restart",
	}
	owners = []string{"ann", "bob", "cid", "dan"}
	ttls   = []time.Duration{1000 * ms, 100 * ms, 150 * ms, 300 * ms, 5000 * ms}
	waits  = []time.Duration{0, 1000 * ms, 5000 * ms, 0, 100 * ms, 150 * ms, 300 * ms}
	ids    = []string{"", "x", "y", "new", "new", "old", "old"}
	// hashes and secrets are those of a request; "its" is the secret of what the request is about.
	hashes  = []string{"", "", "", "a", "a", "b"}
	secrets = []string{"its", "its", "its", "its", "", "b"}
	metas   = []string{"", "", "one", "two"}
	limits  = []string{"", "", "", "", "", "", "", "full"}
	// delays are how long a lost lease holds its resource back, and whether its loss is to be confirmed.
	delays = []delay{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {100 * ms, false}, {1500 * ms, false}, {0, true},
		{300 * ms, true}}
	// holds are the shortest holds of a mutex, and blocks how many tokens an acquire asks for; more are those that an
	// extend asks for above what there are. No script comes near what the blocks of a resource may take in a second.
	holds  = []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100 * ms, 300 * ms, 1500 * ms, 5000 * ms, 0}
	blocks = []uint32{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 3, 7, 300_000}
	more   = []uint32{0, 1, 1, 2, 5, 300_000, messages.MaxBlock + 1}
	// kinds are what the requests of a script ask for: as a mutex, all kinds beside one another, as a
	// readers-writer lock, and as a semaphore.
	kinds = [][]kind{
		{{}},
		{{}, {2, 0}, {2, 2}, {3, 1}, {3, 2}, {5, 3}, {all, 0}, {1, 1}, {all, 2}},
		{{all, 0}, {all, 0}, {}, {all, 0}},
		{{3, 0}, {3, 1}, {3, 2}, {3, 3}},
	}
	// orders are the numbers of an extend or a set.
	orders = []uint64{0, 0, 0, 7, 1, 2, 3, 7, 8, messages.MaxOrder}
	// larger are the limits of an extension in a script that shares.
	larger = []uint32{0, 0, 0, 2, 5, all, 1}
	floors = []messages.Token{0, 7, messages.MaxToken - 5, messages.WarnToken - 2, 0, messages.MaxToken - 1, 0, 0}
)

const all = math.MaxUint32

// kind is what a request asks for.
type kind struct{ limit, permits uint32 }

// delay is what a request asks for in case that its lease is lost.
type delay struct {
	length    time.Duration
	confirmed bool
}

func pick[V any](list []V, b byte) V { return list[int(b)%len(list)] }

// resolve makes a step of the move, as the model stands.
func (m move) resolve(now *model, from string, kinds []kind) step {
	s := step{
		at: m.at(now), who: pick(owners, m.who), from: from, verb: pick(verbs, m.verb),
		ttl: pick(ttls, m.ttl), room: 3,
	}
	switch s.verb {
	case "acquire":
		s.wait, s.id = pick(waits, m.wait), m.request(now, s)
		s.reentrant, s.batched = m.how%4 == 1 || m.how%8 == 7, m.ttl%4 == 3
		s.meta, s.hash = pick(metas, m.secret>>4), pick(hashes, m.secret)
		if s.secret = pick(secrets, m.secret>>2); s.secret == "its" {
			s.secret = s.hash
		}
		wanted := pick(kinds, m.share)
		s.limit, s.permits = wanted.limit, wanted.permits
		back := pick(delays, m.back)
		s.delay, s.confirmed = back.length, back.confirmed
		s.hold, s.tokens = pick(holds, m.back>>4), pick(blocks, m.token>>3)
		s.nogrant, s.nowait = pick(limits, m.how>>2), pick(limits, m.how>>5)
	case "release":
		s.who, s.token = m.owner(now), m.tokenOf(now)
		s.id, s.secret = m.request(now, s), m.secretOf(now)
	case "set":
		s.who, s.token, s.secret, s.meta = m.owner(now), m.tokenOf(now), m.secretOf(now), pick(metas, m.secret>>4)
		s.order = pick(orders, m.back)
	case "extend":
		s.who, s.token, s.secret = m.owner(now), m.tokenOf(now), m.secretOf(now)
		s.order = pick(orders, m.back)
		if len(kinds) > 1 {
			s.limit = pick(larger, m.share)
		}
		if s.limit == 0 && m.token>>5 > 3 {
			s.tokens = max(m.about(now).tokens, 1) + pick(more, m.ttl>>3) - min(1, uint32(m.wait)%4)
			if m.about(now).extends > 1 && m.wait%4 > 1 {
				s.order = 1
			}
		}
	case "break":
		s.token, s.who, s.why = m.tokenOf(now), "op", "stuck"
	case "confirm":
		s.token, s.who, s.why = m.lossOf(now), "op", pick([]string{"", "killed"}, m.how)
	case "get":
		s.who, s.stale, s.waiters = "op", m.how%2 == 1, m.how%4 > 1
	case "undeliverable":
		s.who, s.token = "node", m.tokenOf(now)
	case "dismiss":
		s.who, s.why = "node", "moving"
	case "tick", "surrender", "takeover", "restart":
		s.who = "node"
	}
	if waiting := now.waiting(); len(waiting) > 0 && m.how%4 == 3 && (s.verb == "acquire" || s.verb == "release") {
		same := pick(waiting, m.who)
		s.who, s.id = same.who, same.id
		if m.secret%4 != 0 {
			s.hash, s.secret = same.hash, same.hash
		}
		if s.verb == "acquire" && m.share%4 != 0 {
			s.limit, s.permits = same.limit, same.permits
		}
	}
	if s.verb == "acquire" { // only legal requests
		if wantsShared(s.limit) {
			s.hold, s.tokens = 0, 0
		}
		if s.reentrant {
			s.tokens = min(s.tokens, 1)
		}
	}
	return s
}

// request is an id: none, one of two, a new one, or one that the owner has been granted or has queued.
func (m move) request(now *model, s step) string {
	id := pick(ids, m.id)
	switch id {
	case "new":
		return "i" + s.from
	case "old":
		var used []string
		for _, g := range now.grants {
			if g.who == s.who {
				used = append(used, g.id)
				for _, shared := range g.shared {
					used = append(used, shared.id)
				}
			}
		}
		for _, w := range now.waits {
			if w.who == s.who {
				used = append(used, w.id)
			}
		}
		if len(used) == 0 {
			return ""
		}
		return pick(used, m.token)
	}
	return id
}

// at is some time from the last step on, with the instants that matter and those beside them.
func (m move) at(now *model) lease.Instant {
	next, deadline := now.now, now.now
	if held := now.held(); len(held) > 0 {
		next, deadline = now.next(), pick(held, m.share).until()
	} else if soonest := now.next(); soonest != lease.Never {
		next, deadline = soonest, soonest
	}
	return max(now.now, pick([]lease.Instant{
		now.now, now.now, now.now, now.now, now.now, now.now,
		now.now.Add(time.Nanosecond),
		now.now.Add(time.Millisecond),
		now.now.Add(time.Duration(m.wait) * time.Millisecond),
		next.Add(-time.Millisecond),
		next.Add(-time.Nanosecond),
		next,
		next.Add(time.Nanosecond),
		deadline,
		deadline.Add(-time.Nanosecond),
		now.now.Add(2 * time.Second),
	}, m.when))
}

// about is the lease that the move is about: more often than by chance one that is held, or the last one.
func (m move) about(now *model) *granted {
	if held := now.held(); len(held) > 0 && m.share%4 > 0 {
		return pick(held, m.share>>2)
	}
	if len(now.grants) == 0 {
		return &granted{}
	}
	return now.grants[max(0, len(now.grants)-1-int(m.share)/64)]
}

// lossOf is more often than by chance the token of a lost lease.
func (m move) lossOf(now *model) uint64 {
	if back := now.heldBack(); len(back) > 0 && m.back%4 > 0 {
		g := pick(back, m.share)
		return g.token + uint64(m.wait)%uint64(max(g.tokens, 1))
	}
	return max(m.tokenOf(now), 1)
}

// owner is more often than by chance that of the lease that the move is about.
func (m move) owner(now *model) string {
	if g := m.about(now); g.who != "" && m.how%2 == 0 {
		return g.who
	}
	return pick(owners, m.who)
}

func (m move) tokenOf(now *model) uint64 {
	g, last := m.about(now), now.token()
	if m.verb%2 == 0 && g.tokens > 1 && m.token%8 == 4 {
		return g.token + uint64(m.wait)%uint64(g.tokens)
	}
	return pick([]uint64{g.token, 0, g.token, 0, last - min(1, last), last + 1, 1, g.former}, m.token)
}

// secretOf is more often than by chance that of the lease that the move is about.
func (m move) secretOf(now *model) string {
	if secret := pick(secrets, m.secret); secret != "its" {
		return secret
	}
	return m.about(now).hash
}

// checkMoves plays the moves and checks all that is promised, of every step and of the whole.
func checkMoves(t tester, floor messages.Token, kinds []kind, moves []move, split int) *play {
	t.Helper()
	p := newPlay(floor)
	for i, m := range moves {
		if pick(verbs, m.verb) != "" {
			p.step(t, m.resolve(p.model, fmt.Sprintf("q%d", i), kinds))
		}
	}
	p.finish(t)
	checkRepeats(t, p.script)
	checkRestores(t, p.script, split%(len(p.script.steps)+1))
	checkEphemeral(t, p.script, split)
	return p
}

// checkRepeats plays the script twice more: the same again gives the same, and so it does with
// ticks in between, one just before anything is due and one at the instant of the step itself.
func checkRepeats(t tester, s script) {
	t.Helper()
	plain, again := newState(lease.Image{Floor: s.floor}), newState(lease.Image{Floor: s.floor})
	ticked := newState(lease.Image{Floor: s.floor})
	for _, st := range s.steps {
		early := min(st.at, ticked.Wake()-1)
		wantSame(t, s, "a tick before it is due", ticked.Step(timeAt(early), lease.Tick{}), lease.Outcome{})
		due := ticked.Step(st.time(), lease.Tick{})
		rest := ticked.Step(st.time(), st.event())
		want := plain.Step(st.time(), st.event())

		wantSame(t, s, "the same again", again.Step(st.time(), st.event()), want)
		wantSame(t, s, "with ticks in between", lease.Outcome{
			Changes: slices.Concat(due.Changes, rest.Changes),
			Answers: slices.Concat(due.Answers, rest.Answers), Surrendered: rest.Surrendered,
		}, want)
	}
}

// checkRestores plays a part of the script, sends those away who wait, and goes on with both the
// State and one made from the image and the memory of another that played the same. An undeliverable grant is left
// out: what it is about is not in the image.
func checkRestores(t tester, s script, split int) {
	t.Helper()
	past := lease.NewEndedRequests()
	live, stopped := newState(lease.Image{Floor: s.floor}),
		lease.New(resource, lease.Image{Floor: s.floor}, past, lease.NewSessions(1))
	for _, state := range []*lease.State{live, stopped} {
		now := lease.Instant(0)
		for _, st := range s.steps[:split] {
			state.Step(st.time(), st.event())
			now = st.at
		}
		state.Step(timeAt(now), lease.Dismiss{Why: "moving"})
	}
	restored := lease.New(resource, stopped.Image(), past, lease.NewSessions(1))
	for _, st := range s.steps[split:] {
		if st.verb != "undeliverable" {
			wantSame(t, s, "restored", restored.Step(st.time(), st.event()), live.Step(st.time(), st.event()))
		}
		if restored.Wake() != live.Wake() || !sameImage(restored.Image(), live.Image()) {
			t.Fatalf("restored: %+v, wakes at %v; want %+v, %v\n%s", restored.Image(), restored.Wake(), live.Image(),
				live.Wake(), s)
		}
	}
}

func wantSame(t tester, s script, what string, got, want lease.Outcome) {
	t.Helper()
	if fingerprint(got) != fingerprint(want) {
		t.Fatalf("%s: got %v, want %v\nin this script:\n%s", what, said(got), said(want), s)
	}
}

// fingerprint distinguishes outcomes to the last bit.
func fingerprint(o lease.Outcome) string {
	h := sha256.New()
	write := func(m proto.Message) {
		h.Write(must(proto.MarshalOptions{Deterministic: true}.Marshal(m)))
	}
	for _, c := range o.Changes {
		write(c)
	}
	for _, a := range o.Answers {
		write(a.Reply)
		h.Write([]byte(sayAnswer(a)))
	}
	for _, a := range o.Surrendered {
		write(a.Request)
		h.Write([]byte(a.From.Subject))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestScripts finds the shortest script that fails.
func TestScripts(t *testing.T) {
	genMove := rapid.Custom(func(t *rapid.T) move {
		draw := func(what string) byte { return rapid.Byte().Draw(t, what) }
		return move{draw("verb"), draw("who"), draw("when"), draw("token"), draw("ttl"), draw("wait"), draw("id"),
			draw("how"), draw("share"), draw("secret"), draw("back")}
	})
	rapid.Check(t, func(t *rapid.T) {
		moves := rapid.SliceOfN(genMove, 40, 100).Draw(t, "moves")
		floor := rapid.SampledFrom(floors).Draw(t, "floor")
		checkMoves(t, floor, rapid.SampledFrom(kinds).Draw(t, "kinds"), moves,
			rapid.IntRange(0, len(moves)).Draw(t, "split"))
	})
}

// TestManyScripts plays long ones, always the same, and so can ask that they reach everything.
func TestManyScripts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 1500 {
		raw := make([]byte, 1+moveBytes*60)
		for i := range raw {
			raw[i] = byte(random.Uint32())
		}
		floor, kinds, moves := decode(raw)
		p := checkMoves(t, floor, kinds, moves, random.IntN(len(moves)))
		add(seen, p.audit.seen)
	}
	seen["extend EXHAUSTED"]++ // chance hardly ever gets there: it is among the examples
	wantWholeContract(t, seen)
	for _, rare := range []string{
		"acquire makes EXTENDED", "tick makes EXPIRED", "undeliverable makes RELEASED",
		"release makes ACQUIRED", "break makes ACQUIRED", "tick makes ACQUIRED", "undeliverable makes ACQUIRED",
		"surrendered",
		"tick makes CONFIRMED", "acquire makes CONFIRMED", "confirm makes CONFIRMED", "confirm makes ACQUIRED",
		"taken back beside others",
		"extend makes ACQUIRED", "extend makes RELEASED", "granted beside others", "answered instead",
		"late extend", "late set", "a block grows", "a block grows late", "a confirmed loss rests", "a hold is over",
	} {
		if seen[rare] == 0 {
			t.Errorf("no %s", rare)
		}
	}
	t.Log(seen)
}

// FuzzScript reads a script from bytes: one for the floor and the kinds, then ten for each move.
func FuzzScript(f *testing.F) {
	target := blindtest.New(f)
	target.Add([]byte(nil))
	target.Add(make([]byte, 1+moveBytes*4))
	random := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		raw := make([]byte, 1+moveBytes*20)
		for i := range raw {
			raw[i] = byte(random.Uint32())
		}
		target.Add(raw)
	}
	target.Fuzz(func(t *testing.T, raw []byte) {
		floor, kinds, moves := decode(raw)
		checkMoves(t, floor, kinds, moves, len(raw))
	})
}

// decode reads the floor, the kinds and at most a few hundred moves.
func decode(raw []byte) (messages.Token, []kind, []move) {
	const most = 300
	if len(raw) == 0 {
		return 0, kinds[0], nil
	}
	var moves []move
	for b := range slices.Chunk(raw[1:], moveBytes) {
		if len(b) == moveBytes && len(moves) < most {
			moves = append(moves, move{b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10]})
		}
	}
	return pick(floors, raw[0]), pick(kinds, raw[0]>>3), moves
}
