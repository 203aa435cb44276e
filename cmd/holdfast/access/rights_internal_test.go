package access

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// Each operation of the contract has a use, and each use is of a role and of an export. So a new operation is not
// forgotten.
func TestEachOperationHasAUse(t *testing.T) {
	t.Parallel()
	d := Deployment{Prefix: messages.DefaultPrefix, Shards: 2}
	roles := slices.Concat(
		d.Client(Terms{User: "a", Inbox: "a", Keys: everything, Values: true, Sessions: true}).Publish(),
		d.Operator(Terms{User: "a", Inbox: "a", Keys: everything}).Publish(),
	)
	var exported []string
	for _, s := range append(d.shares(everything, clientUses...), d.operatorShares()...) {
		exported = append(exported, s.Exported)
	}
	for _, op := range messages.Operations {
		if uses[op] == 0 {
			t.Errorf("%s has no use", op)
		}
		for _, subject := range d.on(everything, op) {
			if !slices.Contains(roles, subject) {
				t.Errorf("no role has %s", subject)
			}
			if !slices.Contains(exported, subject) {
				t.Errorf("%s is not exported", subject)
			}
		}
	}
	if len(uses) != len(messages.Operations) {
		t.Errorf("%d operations have uses, the contract has %d", len(uses), len(messages.Operations))
	}
}

// No role has an empty list: NATS takes that for a permission to everything.
func TestNoListIsEmpty(t *testing.T) {
	t.Parallel()
	d := Deployment{Prefix: messages.DefaultPrefix, Shards: 1}
	for _, u := range []User{
		d.Node(Terms{Inbox: "a"}), d.Client(Terms{Inbox: "a", Keys: everything}),
		d.Operator(Terms{Inbox: "a", Keys: everything}),
		d.Watcher(Terms{Inbox: "a"}), d.Agent(Terms{Inbox: "a", Keys: everything}), d.Metrics(Terms{Inbox: "a"}),
		d.Backup(Terms{Inbox: "a"}),
	} {
		if len(u.Publish()) == 0 || len(u.Subscribe()) == 0 ||
			slices.Contains(append(u.Publish(), u.Subscribe()...), "") {
			t.Errorf("%s: %q, %q", u.Role, u.Publish(), u.Subscribe())
		}
	}
}

// Each word of a script for nsc is one word of the shell.
func TestWordsOfNSC(t *testing.T) {
	t.Parallel()
	d := Deployment{Prefix: messages.DefaultPrefix, Shards: 1}
	key, err := messages.EncodeKey(`a'; rm -rf $HOME "b`)
	if err != nil {
		t.Fatal(err)
	}
	script := NSC(d.Client(Terms{User: "a", Inbox: "_INBOX.a", Keys: []string{key}}), "A")
	for line := range strings.Lines(script) {
		if words := strings.Split(line, "'"); strings.HasPrefix(line, "  --") && len(words) != 3 {
			t.Errorf("not one word: %s", line)
		}
	}
}
