package node

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// So many requests may be at all shards, and one more when a shard has answered the last part of one.
func TestSurveysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &surveyor{clock: actors.SystemClock(), under: make(map[uint64]*survey),
			of: make(map[string]int)}
		var last uint64
		for i := range maxSurveys {
			number, ok := s.begin(messages.ReplyTo{Encoding: messages.JSON}, 1)
			if !ok {
				t.Fatalf("survey %d is refused", i)
			}
			last = number
		}
		if _, ok := s.begin(messages.ReplyTo{}, 1); ok || len(s.under) != maxSurveys {
			t.Errorf("one too many is taken, of %d", len(s.under))
		}
		if !s.add(last, 0, []byte(`{"status":"RELEASED"}`)) {
			t.Fatal("the answer of its only shard does not end it")
		}
		s.take(last).stop()
		if _, ok := s.begin(messages.ReplyTo{}, 1); !ok {
			t.Error("there is room, and a survey is refused")
		}
		for _, v := range s.under {
			v.stop()
		}
	})
}

// One tenant with its share of the surveys leaves room for others.
func TestSurveysOfTenantsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &surveyor{clock: actors.SystemClock(), under: make(map[uint64]*survey),
			of: make(map[string]int)}
		for i := range maxTenantSurveys {
			if _, ok := s.begin(messages.ReplyTo{Origin: messages.Origin{Tenant: "A"}}, 1); !ok {
				t.Fatalf("survey %d is refused", i)
			}
		}
		if _, ok := s.begin(messages.ReplyTo{Origin: messages.Origin{Tenant: "A"}}, 1); ok {
			t.Error("one too many is taken")
		}
		for _, other := range []string{"B", ""} {
			if _, ok := s.begin(messages.ReplyTo{Origin: messages.Origin{Tenant: other}}, 1); !ok {
				t.Errorf("tenant %q has no room", other)
			}
		}
		s.take(1).stop()
		if _, ok := s.begin(messages.ReplyTo{Origin: messages.Origin{Tenant: "A"}}, 1); !ok {
			t.Error("there is room, and a survey is refused")
		}
		for number := range s.under {
			s.take(number).stop()
		}
		if len(s.of) != 0 {
			t.Errorf("counts are left: %v", s.of)
		}
	})
}

// Who has seen where the shards answer one survey cannot answer the next one, and no client can have the node do it.
func TestForgedSurveyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &surveyor{inbox: newInbox(&nats.Conn{}), clock: actors.SystemClock(),
			under: make(map[uint64]*survey), of: make(map[string]int)}
		first, _ := s.begin(messages.ReplyTo{Encoding: messages.JSON}, 8)
		second, _ := s.begin(messages.ReplyTo{Encoding: messages.JSON}, 8)
		observed, forged := s.subject(first, 0), []byte(`{"status":"EXTENDED"}`)
		for _, subject := range []string{
			strings.TrimSuffix(observed, fmt.Sprintf("%d.0", first)) + fmt.Sprintf("%d.0", second),
			strings.TrimSuffix(observed, "0") + "1",
			s.inbox.prefix + fmt.Sprintf("%d.0", second),
			strings.Replace(observed, s.inbox.prefix, newInbox(&nats.Conn{}).prefix, 1),
		} {
			s.answered(&nats.Msg{Subject: subject, Data: forged})
		}
		s.answered(&nats.Msg{Subject: observed, Data: []byte(`{"status":"NOT_HELD"}`)})
		if v := s.under[second]; len(v.left) != 8 || v.sum.done != 0 {
			t.Errorf("forged answers count: %+v", v)
		}
		if v := s.under[first]; len(v.left) != 7 || v.sum.done != 0 {
			t.Errorf("the answer of a shard does not count, or a forged one does: %+v", v)
		}
		a := &admission{prefix: messages.DefaultPrefix, drops: newDrops(slog.New(slog.DiscardHandler)),
			own: []inbox{s.inbox}}
		m := &nats.Msg{Subject: "holdfast.get.a"}
		if a.mayReach(m, messages.ReplyTo{Subject: observed}) ||
			!a.mayReach(m, messages.ReplyTo{Subject: observed, Origin: messages.Origin{Inner: true}}) ||
			!a.mayReach(m, messages.ReplyTo{Subject: "_INBOX.c"}) {
			t.Error(
				"the answer to a client goes to an inbox of the node, or another answer does not go where it should")
		}
		for _, v := range s.under {
			v.stop()
		}
	})
}

// All shards together name as many wanted resources as one keep may, however many there are, and each has its turn.
func TestSharesOfWanted(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 16, 64, 99, 100, 101, 150, messages.MaxShards} {
		named := make([]bool, shards)
		for first := range shards {
			sum := 0
			for shard := range shards {
				share := wantedShare((shard+first)%shards, shards)
				named[shard] = named[shard] || share > 0
				sum += share
			}
			if sum != messages.MaxWanted {
				t.Errorf("%d shards may name %d resources, want %d", shards, sum, messages.MaxWanted)
			}
		}
		if slices.Contains(named, false) {
			t.Errorf("of %d shards some never name a resource", shards)
		}
	}
}

// The answer of a survey has what all shards want.
func TestSurveySumsWanted(t *testing.T) {
	var s sum
	for shard, r := range []*messages.Reply{
		{Status: messages.Status_EXTENDED, Held: 2, Wanted: []string{"a", "b"}}, {Status: messages.Status_NOT_HELD},
		{Status: messages.Status_EXTENDED, Held: 1}, {Status: messages.Status_EXTENDED, Held: 1, Wanted: []string{"c"}},
	} {
		s.add(uint32(shard), r)
	}
	if r := s.reply(nil); r.GetHeld() != 4 || !slices.Equal(r.GetWanted(), []string{"a", "b", "c"}) {
		t.Errorf("got %v", r)
	}
}

// Only the part of a survey has a share; a client has the whole of it.
func TestMaxWanted(t *testing.T) {
	tr := &transport{cfg: Config{Limits: messages.DefaultLimits()}}
	for _, test := range []struct {
		from messages.Origin
		want int
	}{{messages.Origin{}, 100}, {messages.Origin{Wanted: 3}, 100}, {messages.Origin{Inner: true, Wanted: 3}, 3},
		{messages.Origin{Inner: true}, 0}} {
		event, err := tr.decode(routing.Envelope{Operation: messages.OpKeep,
			ReplyTo: messages.ReplyTo{Subject: "_INBOX.x", Encoding: messages.JSON, Origin: test.from},
			Data:    []byte(`{"ttl_ms":1000,"notices":true}`)})
		if k, ok := event.(lease.Keep); err != nil || !ok || k.MaxWanted != test.want {
			t.Errorf("%+v: %+v, %v, want %d", test.from, event, err, test.want)
		}
	}
}
