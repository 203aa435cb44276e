package tenants

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/messages"
)

// A tenant learns from its keeps which of its resources are wanted in its own account. A notice cannot reach it, and goes
// to nobody else; one to the account of the nodes shows no account.
func TestNotices(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{})
	a, b, operator := s.as(first), s.as(second), s.operator(first)
	const refused, taken = "_INBOX.refused", "_INBOX.taken"
	foreign, err := operator.SubscribeSync(refused)
	if err != nil {
		t.Fatal(err)
	}
	own, err := operator.SubscribeSync(taken)
	if err != nil {
		t.Fatal(err)
	}
	in := fmt.Sprintf(`{"owner":"o","ttl_ms":60000,"session":%q}`, session)
	try := `{"owner":"x","ttl_ms":60000}`
	a.want(messages.Status_GRANTED, messages.OpAcquire, "name", in)
	a.want(messages.Status_INVALID, messages.OpKeep, session,
		fmt.Sprintf(`{"ttl_ms":60000,"notices":true,"alive":%q}`, refused))
	wanted := func(want ...string) {
		t.Helper()
		r := a.want(messages.Status_EXTENDED, messages.OpKeep, session, `{"ttl_ms":60000,"notices":true}`)
		if !slices.Equal(r.GetWanted(), want) {
			t.Errorf("wanted are %q, want %q", r.GetWanted(), want)
		}
	}
	wanted()
	b.want(messages.Status_GRANTED, messages.OpAcquire, "name", in)
	b.want(messages.Status_HELD, messages.OpAcquire, "name", try)
	wanted()
	a.want(messages.Status_HELD, messages.OpAcquire, "name", try)
	wanted("name")

	operator.want(messages.Status_EXTENDED, messages.OpKeep, session,
		fmt.Sprintf(`{"ttl_ms":60000,"notices":true,"alive":%q}`, taken))
	a.want(messages.Status_HELD, messages.OpAcquire, "name", try)
	m, err := own.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	(&client{TB: t, account: first}).wantHidden(m)
	var n messages.Notice
	if err := messages.DecodeReply(messages.JSON, m.Data, &n); err != nil || n.GetResource() != "name" || n.GetToken() != 1 {
		t.Errorf("the notice is %v (%v)", &n, err)
	}
	if n, _, err := foreign.Pending(); n > 0 || err != nil {
		t.Errorf("%d notices in the account of the nodes (%v)", n, err)
	}
}
