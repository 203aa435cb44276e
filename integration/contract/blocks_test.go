package contract

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// block is a request for a lease with so many tokens.
func block(owner string, tokens uint32) *messages.AcquireRequest {
	return &messages.AcquireRequest{Owner: owner, TtlMs: hour, RequestId: owner, Tokens: tokens}
}

// grow is an extend that lets a lease have so many tokens in all.
func grow(token uint64, tokens uint32) *messages.ExtendRequest {
	return &messages.ExtendRequest{Owner: "a", Token: token, TtlMs: hour, Tokens: tokens}
}

// wantBlock asks, checks status and token, and how many tokens the lease in the answer has.
func (q *requester) wantBlock(status messages.Status, token uint64, tokens uint32, request proto.Message) {
	q.Helper()
	if r := q.want(status, token, request); r.GetLease().GetTokens() != tokens {
		q.Errorf("%v: %v, want %d tokens", request, r, tokens)
	}
}

// wantError asks, and wants an INVALID with this text.
func (q *requester) wantError(text string, request proto.Message) {
	q.Helper()
	if r := q.want(messages.Status_INVALID, 0, request); r.GetError() != text {
		q.Errorf("%v: %q, want %q", request, r.GetError(), text)
	}
}

// A lease has the tokens that it asked for, and shows it in every answer.
func TestBlock(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.wantBlock(messages.Status_GRANTED, 1, 100, block("a", 100))
		q.wantBlock(messages.Status_GRANTED, 1, 100, block("a", 100)) // the same request
		q.wantBlock(messages.Status_HELD, 1, 100, block("b", 0))
		q.wantBlock(messages.Status_HELD, 1, 100, &messages.GetRequest{})
		q.wantBlock(messages.Status_NOT_OWNER, 1, 100, give("b", 1))
		q.wantBlock(messages.Status_UPDATED, 1, 100, &messages.SetRequest{Owner: "a", Token: 1})
		q.wantBlock(messages.Status_EXTENDED, 1, 100, grow(1, 0))
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		if r := q.want(messages.Status_FREE, 100, &messages.GetRequest{}); r.GetLease().GetFence() != "000000000000100" {
			t.Errorf("what was issued last: %v", r)
		}
		q.wantBlock(messages.Status_GRANTED, 101, 0, block("b", 1)) // one token is no block
		q.want(messages.Status_RELEASED, 0, give("b", 101))
		q.wantBlock(messages.Status_GRANTED, 102, 0, block("c", 0))
	})
}

// An extend adds tokens and takes none away, also if it comes late.
func TestGrowth(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.wantBlock(messages.Status_GRANTED, 1, 0, block("a", 0))
		q.wantBlock(messages.Status_EXTENDED, 1, 8, grow(1, 8))
		q.wantBlock(messages.Status_EXTENDED, 1, 8, grow(1, 8)) // a repetition
		q.wantBlock(messages.Status_EXTENDED, 1, 8, grow(1, 5))
		q.wantBlock(messages.Status_EXTENDED, 1, 1_000_008, grow(0, 1_000_008))
		q.wantError("tokens: at most 2000008, which is 1000000 more than the lease has, got 2000009",
			grow(1, 2_000_009))
		q.wantBlock(messages.Status_HELD, 1, 1_000_008, &messages.GetRequest{})
		short := grow(1, 0)
		short.TtlMs, short.Order = 1_800_000, 2
		q.wantBlock(messages.Status_EXTENDED, 1, 1_000_008, short)
		late := grow(1, 1_000_009)
		late.Order = 1
		r := q.want(messages.Status_EXTENDED, 1, late)
		if l := r.GetLease(); l.GetTokens() != 1_000_009 || l.GetTtlMs() != 1_800_000 || r.GetOrder() != 2 {
			t.Errorf("late: %v", r)
		}
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.want(messages.Status_GRANTED, 1_000_010, block("b", 0))
	})
}

// Only an exclusive lease of one process has a block, and a block has bounds.
func TestBlockRules(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.wantError("tokens: at most 1000000, got 1000001", block("a", 1_000_001))
		shared := reader("a")
		shared.Tokens = 2
		q.wantError("limit: 0 or 1 beside tokens: a shared lease has one token, got 4294967295", shared)
		reentrant := block("a", 2)
		reentrant.Reentrant = true
		q.wantError("reentrant: false beside tokens: a block belongs to one process, got true", reentrant)
		q.wantError("tokens: at most 4000000000, got 4000000001", grow(1, 4_000_000_001))
		beside := grow(1, 2)
		beside.Limit = 2
		q.wantError("tokens: none beside limit: a shared lease has one token, got both", beside)
		q.want(messages.Status_FREE, 0, &messages.GetRequest{}) // none of it had an effect
		q.want(messages.Status_GRANTED, 1, reader("a"))
		q.wantError("tokens: none of a shared lease, which has one token, got 2", grow(1, 2))
		q.want(messages.Status_RELEASED, 0, give("a", 1))
	})
}

// A reentrant request never gets a lease with a block, also if that has grown.
func TestBlockIsNotShared(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.want(messages.Status_GRANTED, 1, block("a", 0))
		again := func(id string) *messages.AcquireRequest {
			return &messages.AcquireRequest{Owner: "a", TtlMs: hour, RequestId: id, Reentrant: true}
		}
		q.want(messages.Status_GRANTED, 1, again("a1"))
		q.want(messages.Status_EXTENDED, 1, grow(1, 2))
		q.want(messages.Status_HELD, 1, again("a2"))
	})
}

// However the lease ends, the next grant has a token behind the whole block.
func TestTokensBehindABlock(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.want(messages.Status_GRANTED, 1, block("a", 10))
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.want(messages.Status_GRANTED, 11, block("b", 10))
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 15})
		brief := block("c", 10)
		brief.TtlMs = 100
		q.want(messages.Status_GRANTED, 21, brief)
		q.wait(1, block("d", 10)).want(messages.Status_GRANTED, 31) // when that has expired
		q.want(messages.Status_EXTENDED, 41, &messages.ExtendRequest{Owner: "d", Token: 31, TtlMs: hour, Limit: 2})
		q.wantBlock(messages.Status_HELD, 41, 0, &messages.GetRequest{}) // a downgrade leaves no block
		q.want(messages.Status_RELEASED, 0, give("d", 31))
		q.want(messages.Status_RELEASED, 0, give("d", 41))
		q.want(messages.Status_GRANTED, 42, block("e", 0))
	})
}

// Its owner names a lease by the first token, an operator by any of them.
func TestNamesOfABlock(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		lost := block("a", 10)
		lost.Confirm = true
		q.wantBlock(messages.Status_GRANTED, 1, 10, lost)
		q.wantBlock(messages.Status_STALE_TOKEN, 1, 10, give("a", 2))
		q.wantBlock(messages.Status_STALE_TOKEN, 1, 10, grow(10, 11))
		q.wantBlock(messages.Status_STALE_TOKEN, 1, 10, &messages.SetRequest{Owner: "a", Token: 2})
		q.wantBlock(messages.Status_STALE_TOKEN, 1, 10, &messages.BreakRequest{Token: 11})
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 10})
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 3}) // a repetition
		q.wantBlock(messages.Status_HELD_BACK, 1, 10, &messages.GetRequest{})
		q.wantBlock(messages.Status_STALE_TOKEN, 1, 10, &messages.ConfirmRequest{Token: 11})
		q.want(messages.Status_EXPIRED, 0, give("a", 1))
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 7})
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 2}) // a repetition
		q.want(messages.Status_GRANTED, 11, block("b", 2))
		q.want(messages.Status_RELEASED, 0, give("b", 0))
		q.want(messages.Status_RELEASED, 0, give("b", 11)) // a repetition
	})
}

// Events and listings show the block, and no use of it.
func TestEventsOfABlock(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		w := watch(t, s.Connect(), "holdfast.event."+q.key)
		q.want(messages.Status_GRANTED, 1, block("a", 10))
		late := grow(1, 12)
		late.Order = 1
		first := grow(1, 11)
		first.Order = 2
		q.want(messages.Status_EXTENDED, 1, first)
		q.want(messages.Status_EXTENDED, 1, late)
		q.want(messages.Status_EXTENDED, 1, late) // a repetition makes no event
		r := c.list(fmt.Sprintf(`{"pattern":%q}`, q.key))
		if len(r.GetLeases()) != 1 || r.GetLeases()[0].GetTokens() != 12 {
			t.Errorf("listed: %v", r)
		}
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 12})
		for _, want := range []struct {
			kind   messages.Event_Kind
			tokens uint32
		}{
			{messages.Event_ACQUIRED, 10}, {messages.Event_EXTENDED, 11}, {messages.Event_UPDATED, 12},
			{messages.Event_BROKEN, 12},
		} {
			e := w.next()
			if l := e.GetLease(); e.GetKind() != want.kind || l.GetToken() != 1 || l.GetTokens() != want.tokens {
				t.Errorf("got %v, want %+v", e, want)
			}
		}
	})
}

// Ephemeral leases are in no journal. Still no token of their blocks is issued again when the node has crashed: the block
// and each growth are reserved before their answers.
func TestEphemeralBlocks(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	for key, lengthen := range map[string]func(){
		"at-once": func() {
			c.want(messages.Status_GRANTED, 1, "holdfast.acquire.at-once",
				`{"owner":"a","ttl_ms":60000,"durability":"EPHEMERAL","tokens":5000}`)
		},
		"grown": func() {
			c.want(messages.Status_GRANTED, 1, "holdfast.acquire.grown",
				`{"owner":"a","ttl_ms":60000,"durability":"EPHEMERAL"}`)
			c.want(messages.Status_EXTENDED, 1, "holdfast.extend.grown", `{"owner":"a","ttl_ms":60000,"tokens":5000}`)
		},
	} {
		lengthen()
		if l := c.want(messages.Status_HELD, 1, "holdfast.get."+key, ``).GetLease(); l.GetTokens() != 5000 {
			t.Errorf("%s: %v", key, l)
		}
	}
	s.CrashNode()
	s.Restart()
	c = &client{t, s.Connect()}
	for _, key := range []string{"at-once", "grown"} {
		if got := c.want(messages.Status_GRANTED, 0, "holdfast.acquire."+key,
			`{"owner":"b","ttl_ms":60000}`).GetLease().GetToken(); got <= 5000 {
			t.Errorf("%s: token %d is issued again", key, got)
		}
	}
}

// A block outlives its node, and what was added with it.
func TestBlockOutlivesItsNode(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000,"tokens":10}`)
	c.want(messages.Status_EXTENDED, 1, extend, `{"owner":"a","ttl_ms":60000,"tokens":20}`)
	s.CrashNode()
	s.Restart()
	c = &client{t, s.Connect()}
	if l := c.want(messages.Status_HELD, 1, get, ``).GetLease(); l.GetTokens() != 20 {
		t.Errorf("held by %v", l)
	}
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	s.Restart()
	c = &client{t, s.Connect()}
	c.want(messages.Status_FREE, 20, get, ``)
	c.want(messages.Status_GRANTED, 21, acquire, `{"owner":"b","ttl_ms":60000}`)
}
