package commands_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

func TestSharingIsRequested(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args           []string
		limit, permits uint32
	}{
		{nil, 0, 0},
		{[]string{"--shared"}, math.MaxUint32, 0},
		{[]string{"--limit", "1"}, 1, 0},
		{[]string{"--limit", "5"}, 5, 0},
		{[]string{"--limit", "5", "--permits", "3"}, 5, 3},
	} {
		f := withNode(t, func(int) *messages.Reply { return granted(7) })
		f.run(t.Context(), append([]string{"acquire", "orders.42"}, test.args...)...).want(t, 0, "token 7")
		var r messages.AcquireRequest
		if f.request(t, 1, &r); r.GetLimit() != test.limit || r.GetPermits() != test.permits {
			t.Errorf("%q: %v", test.args, &r)
		}
	}
}

// A deployment of the first version of the contract does not know the fields.
func TestDeploymentWithoutSharing(t *testing.T) {
	t.Parallel()
	f := withEarlierVersion(t, []string{messages.FeatureBatch}, "holdfast.>")
	for _, args := range [][]string{
		{"acquire", "a", "--shared"}, {"acquire", "a", "--limit", "2"}, {"get", "a", "--waiters"}, {"ls"},
		{"deadlocks"},
	} {
		r := f.run(t.Context(), args...)
		r.want(t, 2, `payload: an unknown field`)
		if strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
	f.run(t.Context(), "get", "a", "--waiters", "--json").want(t, 2, `{"status":"INVALID","error":"`)
}

// A client that needs a feature names no option of the Go client.
func TestLockOnAnEarlierVersion(t *testing.T) {
	t.Parallel()
	f := withEarlierVersion(t, []string{messages.FeatureBatch}, "holdfast.>")
	for flag, says := range map[string]string{
		"--disconnect=5s": "upgrade all nodes, or let leases of a disconnected client expire",
		"--delay=5s":      "upgrade all nodes, or neither delay the lock after a loss nor have losses confirmed",
		"--shared":        "upgrade all nodes, or use exclusive locks only",
	} {
		f.run(t.Context(), "lock", "a", flag, "--server", f.url, "--", "true").want(t, 2, says)
	}
}

// An older deployment is a finding, and not what it does not know.
func TestDoctorOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	f := withEarlierVersion(t, []string{messages.FeatureBatch, messages.FeatureSharing}, "holdfast.>")
	r := f.run(t.Context(), "doctor", "--timeout", "20s")
	r.want(t, 3,
		"the nodes are older than this command: they lack delay, sessions, values, secrets, order, keep_secret")
	r.want(t, 3, "upgrade the nodes, or use the command of their version, v1.0.0")
	if strings.Contains(r.stdout, "needs another answer") {
		t.Error(r.stdout)
	}
}

// deadlocked answers as a node on which, in the listing, a and b wait for one another; by get, these wait for x.
func deadlocked(t *testing.T, waiters ...*messages.Waiter) *fakeNode {
	t.Helper()
	x := &messages.Lease{Resource: "x", Owner: "a", Token: 1, RemainingMs: 1000}
	y := &messages.Lease{Resource: "y", Owner: "b", Token: 2, RemainingMs: 1000}
	f := withNATS(t)
	_, err := f.nc.Subscribe("holdfast.>", func(m *nats.Msg) {
		switch m.Subject {
		case "holdfast.list":
			f.list(t, m, &messages.ListReply{Leases: []*messages.Lease{x, y}, Queues: []*messages.Queue{
				{Resource: "x", Waiters: []*messages.Waiter{waits("b")}},
				{Resource: "y", Waiters: []*messages.Waiter{waits("a")}},
			}})
		case "holdfast.get.x":
			f.answer(t, m, &messages.Reply{Status: messages.Status_HELD, Lease: x, Holders: []*messages.Lease{x},
				Waiters: waiters})
		case "holdfast.get.y":
			f.answer(t, m, &messages.Reply{
				Status: messages.Status_HELD, Lease: y, Holders: []*messages.Lease{y},
				Waiters: []*messages.Waiter{waits("a")},
			})
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

// waits returns a request that waits for longer than any test runs.
func waits(owner string) *messages.Waiter {
	return &messages.Waiter{Owner: owner, Permits: 1, WaitingMs: 3_600_000, LeftMs: 1000}
}

func TestDeadlockIsConfirmed(t *testing.T) {
	t.Parallel()
	deadlocked(t, waits("b")).run(t.Context(), "deadlocks").want(t, 3, "deadlock:\n"+
		`  "a" waits for y, which "b" holds: token 2; exclusive, for 1h, 1s left`+"\n"+
		`  "b" waits for x, which "a" holds: token 1; exclusive, for 1h, 1s left`+"\n"+
		"  to end it, break one of these leases, as in: holdfast break y --token 2\n")
	deadlocked(t).run(t.Context(), "deadlocks").want(t, 0, "no deadlocks\n")
	deadlocked(t, waits("c")).run(t.Context(), "deadlocks", ">").want(t, 0,
		"no deadlocks among the locks that match >\n")
}
