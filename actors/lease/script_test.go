package lease_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const resource = "orders.42"

// script is what happens to a resource, in words: steps of time, who, what, and what else there is
// to say.
//
//	0s ann acquire ttl=1s; 100ms bob acquire wait=500ms id=x; 1s node tick
//	0s ann acquire limit=5 permits=2; 100ms bob acquire limit=all; 200ms ann extend token=1 limit=7
//
// A failing random script is printed in this form and can be pasted into a table.
type script struct {
	// floor is a token that was issued before the script begins.
	floor messages.Token
	steps []step
}

// newState is a resource whose owner remembers no request that ended.
func newState(image lease.Image) *lease.State {
	return lease.New(resource, image, lease.NewEndedRequests(), lease.NewSessions(1))
}

// step is one event. In a takeover another owner goes on with the image, to which the queue is passed on
// only after the step; in a restart it knows nothing of the times, which begin anew. What it leaves out is a ttl of a
// second, and room for eight to wait.
type step struct {
	at        lease.Instant
	who, verb string
	from      string // where the answer goes: to who
	ttl, wait time.Duration
	delay     time.Duration
	hold      time.Duration
	room      int
	// tokens is how many an acquire or an extend asks for.
	tokens  uint32
	token   uint64
	limit   uint32 // all: the highest number
	permits uint32
	id, why string
	// hash and secret are those that the request carries, by the name of the secret.
	hash, secret string
	// meta is the metadata, as one entry.
	meta string
	// order is the number of an extend or a set.
	order uint64
	// aim is which token a move of a search names: see [audit.aim].
	aim string
	// nogrant and nowait are the limits of the node that stand in the way.
	nogrant, nowait string

	// batched: the request came in a batch. confirmed: the loss of the lease is to be confirmed.
	reentrant, ephemeral, stale, batched, waiters, confirmed bool
}

// mustParse reads a script, one step a line or between semicolons.
func mustParse(text string) script {
	var s script
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "floor":
			s.floor = messages.Token(must(strconv.ParseUint(words[1], 0, 64)))
		default:
			s.steps = append(s.steps, mustParseStep(words))
		}
	}
	return s
}

func mustParseStep(words []string) step {
	s := step{
		at:  lease.Instant(must(time.ParseDuration(words[0]))),
		who: words[1], verb: words[2], from: words[1],
		ttl: time.Second, room: 8,
	}
	for _, word := range words[3:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "ttl":
			s.ttl = must(time.ParseDuration(value))
		case "wait":
			s.wait = must(time.ParseDuration(value))
		case "delay":
			s.delay = must(time.ParseDuration(value))
		case "hold":
			s.hold = must(time.ParseDuration(value))
		case "tokens":
			s.tokens = uint32(must(strconv.ParseUint(value, 0, 32)))
		case "room":
			s.room = must(strconv.Atoi(value))
		case "token":
			s.token = must(strconv.ParseUint(value, 0, 64))
		case "limit":
			s.limit = mustParseLimit(value)
		case "permits":
			s.permits = uint32(must(strconv.ParseUint(value, 0, 32)))
		case "id":
			s.id = value
		case "hash":
			s.hash = value
		case "secret":
			s.secret = value
		case "meta":
			s.meta = value
		case "order":
			s.order = must(strconv.ParseUint(value, 0, 64))
		case "from":
			s.from = value
		case "aim":
			s.aim = value
		case "why":
			s.why = value
		case "nogrant":
			s.nogrant = value
		case "nowait":
			s.nowait = value
		case "reentrant":
			s.reentrant = true
		case "ephemeral":
			s.ephemeral = true
		case "stale":
			s.stale = true
		case "batched":
			s.batched = true
		case "waiters":
			s.waiters = true
		case "confirmed":
			s.confirmed = true
		default:
			panic("unknown word in a script: " + word)
		}
	}
	return s
}

func mustParseLimit(word string) uint32 {
	if word == "all" {
		return math.MaxUint32
	}
	return uint32(must(strconv.ParseUint(word, 0, 32)))
}

func sayLimit(limit uint32) string {
	if limit == math.MaxUint32 {
		return "all"
	}
	return strconv.Itoa(int(limit))
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func (s script) String() string {
	var b strings.Builder
	if s.floor > 0 {
		fmt.Fprintf(&b, "floor %d\n", uint64(s.floor))
	}
	for _, st := range s.steps {
		fmt.Fprintln(&b, st)
	}
	return b.String()
}

func (s step) String() string {
	words := []string{time.Duration(s.at).String(), s.who, s.verb}
	add := func(said bool, format string, args ...any) {
		if said {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(s.verb == "acquire" || s.verb == "extend", "ttl=%v", s.ttl)
	add(s.verb == "acquire" && s.room != 8, "room=%d", s.room)
	add(s.wait > 0, "wait=%v", s.wait)
	add(s.delay > 0, "delay=%v", s.delay)
	add(s.hold > 0, "hold=%v", s.hold)
	add(s.tokens > 0, "tokens=%d", s.tokens)
	add(s.token > 0, "token=%d", s.token)
	add(s.limit > 0, "limit=%s", sayLimit(s.limit))
	add(s.permits > 0, "permits=%d", s.permits)
	add(s.id != "", "id=%s", s.id)
	add(s.hash != "", "hash=%s", s.hash)
	add(s.secret != "", "secret=%s", s.secret)
	add(s.meta != "", "meta=%s", s.meta)
	add(s.order > 0, "order=%d", s.order)
	add(s.why != "", "why=%s", s.why)
	add(s.nogrant != "", "nogrant=%s", s.nogrant)
	add(s.nowait != "", "nowait=%s", s.nowait)
	add(s.reentrant, "reentrant")
	add(s.ephemeral, "ephemeral")
	add(s.stale, "stale")
	add(s.batched, "batched")
	add(s.waiters, "waiters")
	add(s.confirmed, "confirmed")
	add(s.from != s.who, "from=%s", s.from)
	return strings.Join(words, " ")
}

func (s step) event() lease.Event {
	from := messages.ReplyTo{Subject: s.from, Batched: s.batched, Origin: messages.Origin{Identity: s.who}}
	switch s.verb {
	case "acquire":
		r := &messages.AcquireRequest{
			Owner: s.who, TtlMs: millis(s.ttl), WaitMs: millis(s.wait), RequestId: s.id, Reentrant: s.reentrant,
			Limit: s.limit, Permits: s.permits, Metadata: metadataOf(s.meta), SecretHash: hashOf(s.hash),
			Secret:  secretOf(s.secret),
			DelayMs: millis(s.delay), Confirm: s.confirmed, MinHoldMs: millis(s.hold), Tokens: s.tokens,
		}
		if s.ephemeral {
			r.Durability = messages.Durability_EPHEMERAL
		}
		return lease.Acquire{Request: r, From: from, MaxWaiting: s.room, NoGrant: s.nogrant, NoWait: s.nowait}
	case "release":
		return lease.Release{From: from, Request: &messages.ReleaseRequest{
			Owner: s.who, Token: s.token, RequestId: s.id, Secret: secretOf(s.secret),
		}}
	case "extend":
		return lease.Extend{From: from, Request: &messages.ExtendRequest{
			Owner: s.who, Token: s.token, TtlMs: millis(s.ttl), Limit: s.limit, Secret: secretOf(s.secret),
			Order: s.order, Tokens: s.tokens,
		}}
	case "set":
		return lease.Set{From: from, Request: &messages.SetRequest{
			Owner: s.who, Token: s.token, Metadata: metadataOf(s.meta), Secret: secretOf(s.secret), Order: s.order,
		}}
	case "get":
		return lease.Get{Request: &messages.GetRequest{Stale: s.stale, Waiters: s.waiters}, From: from}
	case "break":
		return lease.Break{Request: &messages.BreakRequest{Token: s.token, Reason: s.why}, From: from}
	case "confirm":
		return lease.Confirm{Request: &messages.ConfirmRequest{Token: s.token, By: s.who, How: s.why}, From: from}
	case "undeliverable":
		return lease.Undeliverable{Token: messages.Token(s.token)}
	case "dismiss":
		return lease.Dismiss{Why: s.why}
	case "surrender", "takeover", "restart":
		return lease.Surrender{}
	case "tick":
		return lease.Tick{}
	}
	panic("unknown verb in a script: " + s.verb)
}

// metadataOf, secretOf and hashOf return what a word of a script stands for; nil: nothing.

func metadataOf(word string) map[string]string {
	if word == "" {
		return nil
	}
	return map[string]string{"meta": word}
}

func secretOf(word string) []byte {
	if word == "" {
		return nil
	}
	return []byte("the secret " + word)
}

func hashOf(word string) []byte {
	if word == "" {
		return nil
	}
	return messages.HashSecret(secretOf(word))
}

// asks reports whether the step is a request, which is to be answered.
func (s step) asks() bool { return s.who != "node" }

// changesOwner reports whether another owner goes on after the step.
func (s step) changesOwner() bool { return s.verb == "takeover" || s.verb == "restart" }

// next returns the image with which the owner goes on that a step leaves.
func (s step) next(image lease.Image) lease.Image {
	if s.verb == "restart" {
		image.Restart(s.at, nil)
	}
	return image
}

func (s step) time() lease.Time { return timeAt(s.at) }

// timeAt is a reading of clocks of which the one for people has an origin of its own.
func timeAt(i lease.Instant) lease.Time {
	return lease.Time{Instant: i, UnixMillis: 1_700_000_000_000 + time.Duration(i).Milliseconds()}
}

func millis(d time.Duration) uint32 { return uint32(d.Milliseconds()) }

// said is an outcome in words: the changes, then the answers, then who was surrendered.
//
//	RELEASED ann#1 1s
//	ACQUIRED bob#2 1s
//	bob: GRANTED bob#2 1s/1s waited
//	ann: RELEASED
//
// A shared lease is said with its slots, its limit and its phase: token 4, of limit 5, in the phase of token 3.
//
//	ACQUIRED ann#4[0,1]/5@3 1s
//	cid: HELD bob#3[2]/5@3 1s/1s held=3 holders=bob#3,ann#4 waiters=dan/0x1(100ms,900ms)
//
// Metadata follow in braces.
//
//	UPDATED ann#1{busy} 1s
//
// The numbers of its extends and sets follow the lease in a change, and one of them the others in an answer.
//
//	EXTENDED ann#1 1s orders=2,0
//	ann: EXTENDED ann#1 1s/1s order=2
//
// A lease with a block is said with its last token.
//
//	ACQUIRED ann#3..7 1s
//
// The end of a lease is said with what is left of its shortest hold.
//
//	RELEASED ann#1 1s rests=400ms
//
// What a lost lease holds back is said with the time that is left, or that the loss is to be confirmed; behind it are
// those that hold the resource.
//
//	EXPIRED ann#1 1s back
//	bob: HELD_BACK ann#1 0s/1s left=500ms
//	CONFIRMED ann#1 1s "the delay is over"
func said(o lease.Outcome) []string {
	var lines []string
	for _, c := range o.Changes {
		lines = append(lines, sayChange(c))
	}
	for _, a := range o.Answers {
		lines = append(lines, sayAnswer(a))
	}
	for _, a := range o.Surrendered {
		lines = append(lines, fmt.Sprintf("%s: surrendered, waits %v", a.From.Subject, duration(a.Request.GetWaitMs())))
	}
	return lines
}

func sayChange(c *journal.Change) string {
	g := c.GetGrant()
	if g == nil {
		return fmt.Sprintf("reserved #%d", c.GetReserved())
	}
	line := fmt.Sprintf("%s %s %v", c.GetKind(), sayLease(g.Lease(0)), duration(g.GetTtlMs()))
	if g.GetFormer() > 0 {
		line += fmt.Sprintf(" former=%d", g.GetFormer())
	}
	line += sayOrders(g.GetExtendOrder(), g.GetSetOrder())
	if c.HoldsBack() {
		line += " back"
	}
	if c.GetRestingMs() > 0 {
		line += fmt.Sprintf(" rests=%v", duration(c.GetRestingMs()))
	}
	if c.GetReason() != "" {
		line += fmt.Sprintf(" %q", c.GetReason())
	}
	return line
}

func sayOrders(extend, set uint64) string {
	if extend+set == 0 {
		return ""
	}
	return fmt.Sprintf(" orders=%d,%d", extend, set)
}

func sayOrder(order uint64) string {
	if order == 0 {
		return ""
	}
	return fmt.Sprintf(" order=%d", order)
}

func sayLease(l *messages.Lease) string {
	line := fmt.Sprintf("%s#%d", l.GetOwner(), l.GetToken())
	if tokens := uint64(l.GetTokens()); tokens > 0 {
		line += fmt.Sprintf("..%d", l.GetToken()+tokens-1)
	}
	if l.GetLimit() > 0 || len(l.GetSlots()) > 0 {
		line += saySlots(l.GetSlots()) + "/" + sayLimit(l.GetLimit())
	}
	if phase := must(messages.ParseToken(l.GetFence())); uint64(phase) != l.GetToken() || l.GetLimit() > 0 {
		line += fmt.Sprintf("@%d", uint64(phase))
	}
	if meta := l.GetMetadata()["meta"]; meta != "" {
		line += "{" + meta + "}"
	}
	return line
}

func saySlots(slots []uint32) string {
	var words []string
	for _, slot := range slots {
		words = append(words, strconv.Itoa(int(slot)))
	}
	return "[" + strings.Join(words, ",") + "]"
}

func sayAnswer(a lease.Answer) string {
	r := a.Reply
	line := fmt.Sprintf("%s: %s", a.To.Subject, r.GetStatus())
	if l := r.GetLease(); l != nil {
		line += " " + sayLease(l)
		if l.GetTtlMs() > 0 {
			line += fmt.Sprintf(" %v/%v", duration(l.GetRemainingMs()), duration(l.GetTtlMs()))
		}
	}
	if r.GetStatus() == messages.Status_HELD_BACK {
		line += sayLeft(r.GetLeftMs())
	}
	if (r.GetLease().GetLimit() > 0 || r.GetStatus() == messages.Status_HELD_BACK) && r.GetHeld() > 0 {
		line += fmt.Sprintf(" held=%d holders=%s", r.GetHeld(), sayHolders(r.GetHolders()))
	}
	if r.GetWaiting() > 0 {
		line += fmt.Sprintf(" waiting=%d", r.GetWaiting())
	}
	if len(r.GetWaiters()) > 0 {
		line += " waiters=" + sayWaiters(r.GetWaiters())
	}
	line += sayOrder(r.GetOrder())
	if a.InDoubt {
		line += " doubted"
	}
	if a.Stale {
		line += " stale"
	}
	return line
}

func sayLeft(millis uint32) string {
	if millis == 0 {
		return " until confirmed"
	}
	return fmt.Sprintf(" left=%v", duration(millis))
}

func sayHolders(all []*messages.Lease) string {
	var words []string
	for _, l := range all {
		words = append(words, fmt.Sprintf("%s#%d", l.GetOwner(), l.GetToken()))
	}
	return strings.Join(words, ",")
}

func sayWaiters(all []*messages.Waiter) string {
	var words []string
	for _, w := range all {
		words = append(words, fmt.Sprintf("%s/%sx%d(%v,%v)",
			w.GetOwner(), sayLimit(w.GetLimit()), w.GetPermits(), duration(w.GetWaitingMs()), duration(w.GetLeftMs())))
	}
	return strings.Join(words, ",")
}

func duration(millis uint32) time.Duration { return time.Duration(millis) * time.Millisecond }
