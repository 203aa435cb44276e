package commands_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// release and extend name the lease that they are about, so that a late copy concerns no later one of the same owner.
func TestTokenIsReadFirst(t *testing.T) {
	lease := func(owner string, token uint64) *messages.Lease {
		return &messages.Lease{Resource: "orders.42", Owner: owner, Token: token}
	}
	held := func(all ...*messages.Lease) *messages.Reply {
		return &messages.Reply{Status: messages.Status_HELD, Lease: all[0], Holders: all}
	}
	free := func(l *messages.Lease) *messages.Reply {
		return &messages.Reply{Status: messages.Status_FREE, Lease: l}
	}
	for name, tc := range map[string]struct {
		got   *messages.Reply
		token uint64 // 0: nothing is asked then
		code  int
		text  string
	}{
		"held":                  {held(lease("me", 7)), 7, 0, ""},
		"held beside others":    {held(lease("other", 7), lease("me", 8)), 8, 0, ""},
		"held by another owner": {held(lease("other", 7)), 7, 0, ""},
		"free":                  {free(lease("", 7)), 7, 0, ""},
		"held back":             {&messages.Reply{Status: messages.Status_HELD_BACK, Lease: lease("me", 7)}, 7, 0, ""},
		"held twice":            {held(lease("me", 7), lease("me", 8)), 0, 2, "the 2 leases that the owner holds"},
		"never held":            {free(nil), 0, 4, "not held"},
	} {
		for command, status := range map[string]messages.Status{
			"release": messages.Status_RELEASED, "extend": messages.Status_EXTENDED,
		} {
			t.Run(name+"/"+command, func(t *testing.T) {
				t.Parallel()
				f := withNode(t, func(n int) *messages.Reply {
					if n == 1 {
						return tc.got
					}
					return &messages.Reply{Status: status, Lease: lease("me", 7)}
				})
				f.run(t.Context(), command, "orders.42", "--owner", "me").want(t, tc.code, tc.text)
				f.mu.Lock()
				n := len(f.requests)
				f.mu.Unlock()
				f.request(t, 1, &messages.GetRequest{})
				if tc.token == 0 {
					if n != 1 {
						t.Errorf("%d requests", n)
					}
					return
				}
				var request interface {
					proto.Message
					GetToken() uint64
				} = &messages.ReleaseRequest{}
				if command == "extend" {
					request = &messages.ExtendRequest{}
				}
				if f.request(t, 2, request); request.GetToken() != tc.token {
					t.Errorf("token %d, want %d", request.GetToken(), tc.token)
				}
			})
		}
	}
}

// A token that is given is the one that counts.
func TestGivenTokenIsNotRead(t *testing.T) {
	f := withNode(t, func(int) *messages.Reply { return &messages.Reply{Status: messages.Status_RELEASED} })
	f.run(t.Context(), "release", "orders.42", "--owner", "me", "--token", "7").want(t, 0, "released orders.42")
	var r messages.ReleaseRequest
	if f.request(t, 1, &r); r.GetToken() != 7 {
		t.Errorf("token %d", r.GetToken())
	}
}
