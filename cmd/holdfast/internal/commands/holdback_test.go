package commands_test

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func TestHoldBackIsRequested(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args    []string
		delay   uint32
		confirm bool
	}{
		{nil, 0, false},
		{[]string{"--delay", "90s"}, 90_000, false},
		{[]string{"--confirm"}, 0, true},
		{[]string{"--confirm", "--delay", "1h"}, 3_600_000, true},
	} {
		f := withNode(t, func(int) *messages.Reply { return granted(7) })
		f.run(t.Context(), append([]string{"acquire", "orders.42"}, test.args...)...).want(t, 0, "token 7")
		var r messages.AcquireRequest
		if f.request(t, 1, &r); r.GetDelayMs() != test.delay || r.GetConfirm() != test.confirm {
			t.Errorf("%q: %v", test.args, &r)
		}
	}
}

func TestConfirmSaysWhichLeaseAndHow(t *testing.T) {
	t.Parallel()
	f := withNode(t, func(int) *messages.Reply { return &messages.Reply{Status: messages.Status_RELEASED} })
	f.run(t.Context(), "confirm", "orders.42", "--token", "000000000000012", "--by", "me", "--how", "switched off").
		want(t, 0, "confirmed the end of the lease on orders.42\n")
	var r messages.ConfirmRequest
	if m := f.request(t, 1, &r); m.Subject != "holdfast.confirm.orders.42" || r.GetToken() != 12 || r.GetBy() != "me" ||
		r.GetHow() != "switched off" {
		t.Errorf("%s %v", m.Subject, &r)
	}
}

func TestHeldBackBesideHolders(t *testing.T) {
	t.Parallel()
	f := withNode(t, func(int) *messages.Reply {
		return &messages.Reply{
			Status: messages.Status_HELD_BACK, LeftMs: 1500, Waiting: 1, Held: 1,
			Lease: &messages.Lease{Resource: "gpu", Owner: "a", Token: 3, Fence: "000000000000003", Limit: 4,
				Slots: []uint32{0}},
			Holders: []*messages.Lease{{Resource: "gpu", Owner: "b", Token: 4, Fence: "000000000000003", Limit: 4,
				Slots: []uint32{1}, RemainingMs: 1000}},
			Waiters: []*messages.Waiter{waits("c")},
		}
	})
	f.run(t.Context(), "get", "gpu", "--waiters").want(t, 0,
		`held back: gpu for 1.5s after the lease of "a", token 3, fence 3, 1 of 4, slot 0, 1 waiting`+"\n"+
			`  held by "b", token 4, fence 3, 1 of 4, slot 1, 1s left`+"\n"+
			`  waits: "c", exclusive, for 1h, 1s left`)
}

// A deployment of an earlier version knows neither the fields nor the operation.
func TestDeploymentWithoutDelay(t *testing.T) {
	t.Parallel()
	f := withEarlierVersion(t, []string{messages.FeatureSharing}, "holdfast.info", "holdfast.acquire.>",
		"holdfast.list", "holdfast.shard.>")
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"acquire", "a", "--confirm"}, 2, "payload: an unknown field"},
		{[]string{"acquire", "a", "--delay", "1s"}, 2, "payload: an unknown field"},
		{[]string{"ls", "--held-back"}, 2, "payload: an unknown field"},
		{[]string{"confirm", "a", "--token", "1"}, 5, "holdfast.confirm.a has no subscriber"},
		{[]string{"fence-agent", "a"}, 2,
			`lacks the feature "delay": upgrade its nodes for resources that are held back after a loss`},
	} {
		args := append(test.args, "--timeout", "5s", "--server", f.url)
		if args[0] == "fence-agent" {
			args = append(args, "--", "true")
		}
		r := f.runAsGiven(t.Context(), args...)
		r.want(t, test.code, test.says)
		if strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
