package identity

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/messages"
)

// The doctor distinguishes a user whom NATS verifies from one that can claim to be another, and from one of whom NATS
// says nothing.
func TestDoctor(t *testing.T) {
	t.Parallel()
	node, login := key(t)
	public, _ := key(t)
	shared := strings.Replace(single(node, public), `"holdfast.acquire.>"`, `"holdfast.>"`, 1)
	for name, test := range map[string]struct {
		config      string
		prefix      messages.Prefix
		state, text string
	}{
		"Verified": {shared, "locks", "ok", `this user is "alice"`},
		"Forged":   {shared, "holdfast", "problem", "this user can claim to be any other one"},
		"Untold":   {strings.Replace(shared, ", share: true", "", 1), "locks", "problem", "share: true"},
	} {
		s := start(t, identity.User, test.config, login)
		nc := s.connect(nats.UserInfo("alice", "a"))
		found := false
		doctor.Run(t.Context(), doctor.Config{Conn: nc, Prefix: test.prefix, Timeout: patience, Slow: patience},
			func(r doctor.Result) {
				if r.Check != "identity" {
					return
				}
				found = true
				text := r.Text
				for _, f := range r.Findings {
					text += f.What
				}
				if string(r.State) != test.state || !strings.Contains(text, test.text) {
					t.Errorf("%s: got %+v, want %s with %q", name, r, test.state, test.text)
				}
			})
		if !found {
			t.Errorf("%s: the check was not made", name)
		}
		if r := s.ask(nc, "locks.get.holdfast-doctor", ""); r.GetStatus() != messages.Status_FREE || r.GetLease() != nil {
			t.Errorf("%s: the check has taken a lock: %v", name, r)
		}
	}
}
