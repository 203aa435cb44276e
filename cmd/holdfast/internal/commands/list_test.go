package commands_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// withLister starts a node that answers the nth listing, counted from 1, with what answer returns; with
// nothing if that is nil. It answers nothing else.
func withLister(t *testing.T, answer func(n int, r *messages.ListRequest) proto.Message) *fakeNode {
	t.Helper()
	f := withNATS(t)
	n := 0
	_, err := f.nc.Subscribe("holdfast.list", func(m *nats.Msg) {
		var r messages.ListRequest
		if err := messages.Decode(messages.EncodingOf("", m.Data), m.Data, &r); err != nil {
			t.Error(err)
		}
		n++
		if a := answer(n, &r); a != nil {
			f.list(t, m, a)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return f
}

// list answers as a node does: a refusal has headers that tell it from a page.
func (f *fakeNode) list(t *testing.T, m *nats.Msg, a proto.Message) {
	t.Helper()
	data, err := messages.Encode(messages.EncodingOf("", m.Data), a)
	if err != nil {
		t.Error(err)
	}
	reply := &nats.Msg{Data: data}
	if r, refused := a.(*messages.Reply); refused {
		reply.Header = nats.Header{messages.HeaderServiceError: {r.GetError()}, messages.HeaderServiceErrorCode: {"1"}}
	}
	if err := m.RespondMsg(reply); err != nil {
		t.Error(err)
	}
}

func pageOf(next string, resources ...string) *messages.ListReply {
	page := &messages.ListReply{Next: next}
	for _, name := range resources {
		page.Leases = append(page.Leases, &messages.Lease{Resource: name, Owner: "me", Token: 1, RemainingMs: 1000})
	}
	return page
}

func TestListing(t *testing.T) {
	t.Run("UntilTheEnd", func(t *testing.T) {
		t.Parallel()
		f := withLister(t, func(n int, r *messages.ListRequest) proto.Message {
			if after := []string{"", "b", "a"}[n-1]; r.GetAfter() != after || r.GetLimit() != messages.MaxListLimit || r.GetPattern() != "orders.*" {
				t.Errorf("request %d: %v", n, r)
			}
			return []*messages.ListReply{pageOf("b", "c", "b"), pageOf("a"), pageOf("", "a")}[n-1]
		})
		f.run(t.Context(), "ls", "orders.*").want(t, 0,
			"RESOURCE  OWNER  TOKEN  LEFT  WAITING\na         me         1    1s        0\nb         me         1    "+
				"1s        0\nc         me         1    1s        0\n")
	})
	t.Run("NoFurtherThanTheLimit", func(t *testing.T) {
		t.Parallel()
		f := withLister(t, func(n int, r *messages.ListRequest) proto.Message {
			if want := []uint32{3, 1}[n-1]; r.GetLimit() != want {
				t.Errorf("request %d: %v", n, r)
			}
			return []*messages.ListReply{pageOf("b", "a", "b"), pageOf("d", "c", "d")}[n-1]
		})
		r := f.run(t.Context(), "ls", "--json", "--limit", "3")
		if r.code != 0 || strings.Count(r.stdout, "\n") != 3 || strings.Contains(r.stdout, `"d"`) {
			t.Errorf("%+v", r)
		}
	})
	t.Run("NotForEver", func(t *testing.T) {
		t.Parallel()
		f := withLister(t, func(int, *messages.ListRequest) proto.Message { return pageOf("a", "a") })
		f.run(t.Context(), "ls").want(t, 1, "the node returned the same page twice")
	})
	t.Run("UntilItIsAvailable", func(t *testing.T) {
		t.Parallel()
		f := withLister(t, func(n int, _ *messages.ListRequest) proto.Message {
			if n < 3 {
				return refused(messages.Status_UNAVAILABLE, "no owner just now")
			}
			return pageOf("", "a")
		})
		f.run(t.Context(), "ls").want(t, 0, "a         me")
	})
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		f := withLister(t, func(n int, _ *messages.ListRequest) proto.Message {
			if n%2 == 1 {
				return pageOf("a", "a")
			}
			return refused(messages.Status_OVERLOADED, "too many\x1b listings")
		})
		r := f.run(t.Context(), "ls")
		if r.want(t, 5, "holdfast: overloaded: too many? listings\n"); r.stdout != "" {
			t.Errorf("half a table: %s", r.stdout)
		}
		f.run(t.Context(), "ls", "--json").want(t, 5,
			"\n"+`{"status":"OVERLOADED","error":"too many\u001b listings"}`+"\n")
	})
	t.Run("Silence", func(t *testing.T) {
		t.Parallel()
		f := withNode(t, func(int) *messages.Reply { return nil })
		f.run(t.Context(), "ls", "--timeout", "1s").want(t, 5, "the request had no effect")
	})
	t.Run("NotTrusted", func(t *testing.T) {
		t.Parallel()
		evil := "x\x1b[2J\u202e\u009b\n"
		f := withLister(t, func(int, *messages.ListRequest) proto.Message {
			return &messages.ListReply{Leases: []*messages.Lease{{Resource: evil, Owner: evil}}}
		})
		for _, args := range [][]string{{"ls"}, {"ls", "--json"}} {
			r := f.run(t.Context(), args...)
			if out := r.stdout + r.stderr; r.code != 0 || strings.ContainsAny(out, "\x1b\u202e\u009b") ||
				strings.Count(out, "\n") > 2 {
				t.Errorf("printed %q", out)
			}
		}
	})
}

// A ranking is one answer, of which the node decides the order.
func TestRankings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args    []string
		by      messages.Ranking
		limit   uint32
		waiters bool
		says    string
	}{
		{[]string{"--by", "queue"}, messages.Ranking_QUEUE, 100, false, "z               5      1s  no holder"},
		{[]string{"--by", "wait", "--limit", "1000", "a.*"}, messages.Ranking_WAIT, 1000, false, "z             1s"},
		{[]string{"--by", "wait", "--waiters"}, messages.Ranking_WAIT, 100, true, "z             1s"},
		{[]string{"--by", "hold", "--limit", "3"}, messages.Ranking_HOLD, 3, true, "b"},
		{[]string{"--by", "hold", "--json"}, messages.Ranking_HOLD, 100, false, `{"resource":"b","owner":"me"`},
		{[]string{"--by", "queue", "--json"}, messages.Ranking_QUEUE, 100, false, `{"resource":"z","waiting":5,`},
		{[]string{"--by", "name"}, messages.Ranking_UNRANKED, messages.MaxListLimit, true, "b"},
	} {
		f := withLister(t, func(n int, r *messages.ListRequest) proto.Message {
			if n != 1 || r.GetBy() != test.by || r.GetLimit() != test.limit || r.GetWaiters() != test.waiters {
				t.Errorf("%q: request %d: %v", test.args, n, r)
			}
			page := pageOf("", "b", "a")
			page.Queues = []*messages.Queue{{Resource: "z", Waiting: 5, OldestMs: 1000},
				{Resource: "a", Waiting: 5, OldestMs: 900}}
			return page
		})
		r := f.run(t.Context(), append([]string{"ls"}, test.args...)...)
		if r.want(t, 0, test.says); r.stderr != "" {
			t.Errorf("%q: %s", test.args, r.stderr)
		}
	}
	f := withLister(t, func(int, *messages.ListRequest) proto.Message { return &messages.ListReply{} })
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--by", "queue"}, 0, "no request waits for a resource\n"},
		{[]string{"--by", "hold", "a.*"}, 0, "no locks are held that match a.*\n"},
		{[]string{"--by", "size"}, 2, "--by: name, queue, wait or hold, got \"size\""},
		{[]string{"--by", "queue", "--held-back"}, 2, "--by queue and --held-back exclude each other"},
		{[]string{"--by", "wait", "--limit", "1001"}, 2, "--limit: at most 1000 with --by wait, got 1001"},
	} {
		f.run(t.Context(), append([]string{"ls"}, test.args...)...).want(t, test.code, test.says)
	}
}
