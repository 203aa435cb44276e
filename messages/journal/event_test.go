package journal_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestEvents(t *testing.T) {
	grant := &journal.Grant{
		Resource: "orders.42", Owner: "me", Token: 5, TtlMs: 30_000, AcquiredAtMs: 1_700_000_000_000,
		Metadata: map[string]string{"host": "a"}, RequestId: "private",
	}
	block := &journal.Grant{Resource: "b", Owner: "me", Token: 5, TtlMs: 1000, Tokens: 4, MinHoldMs: 900}
	lost := &journal.Grant{Resource: "l", Owner: "me", Token: 5, TtlMs: 1000, Confirm: true, MinHoldMs: 900}
	commit := &journal.Commit{AtMs: 1_700_000_000_500, Changes: []*journal.Change{
		{Kind: messages.Event_ACQUIRED, Grant: grant},
		{Resource: "other", Reserved: 1000},
		{Kind: messages.Event_EXTENDED, Grant: grant},
		{Kind: messages.Event_RELEASED, Grant: grant},
		{Kind: messages.Event_EXPIRED, Grant: grant},
		{Kind: messages.Event_BROKEN, Grant: grant, Reason: "it hung"},
		{Kind: messages.Event_EXTENDED, Grant: block},
		{Kind: messages.Event_RELEASED, Grant: block, RestingMs: 700},
		{Kind: messages.Event_EXPIRED, Grant: lost, RestingMs: 700},
		{Kind: messages.Event_CONFIRMED, Grant: lost, Reason: "op", RestingMs: 600},
	}}
	want := []string{
		`{"kind":"ACQUIRED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"remaining_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","at_ms":"1700000000500"}`,
		`{"kind":"EXTENDED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"remaining_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":2,"at_ms":"1700000000500"}`,
		`{"kind":"RELEASED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":3,"at_ms":"1700000000500"}`,
		`{"kind":"EXPIRED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":4,"at_ms":"1700000000500"}`,
		`{"kind":"BROKEN","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":5,"at_ms":"1700000000500","reason":"it hung"}`,
		`{"kind":"EXTENDED","lease":{"resource":"b","owner":"me","token":"5","fence":"000000000000005","ttl_ms":1000,"remaining_ms":1000,"tokens":4},"shard":3,"position":"17","index":6,"at_ms":"1700000000500"}`,
		`{"kind":"RELEASED","lease":{"resource":"b","owner":"me","token":"5","fence":"000000000000005","ttl_ms":1000,"tokens":4},"shard":3,"position":"17","index":7,"at_ms":"1700000000500","resting_ms":700}`,
		`{"kind":"EXPIRED","lease":{"resource":"l","owner":"me","token":"5","fence":"000000000000005","ttl_ms":1000},"shard":3,"position":"17","index":8,"at_ms":"1700000000500","held_back":true,"resting_ms":700}`,
		`{"kind":"CONFIRMED","lease":{"resource":"l","owner":"me","token":"5","fence":"000000000000005","ttl_ms":1000},"shard":3,"position":"17","index":9,"at_ms":"1700000000500","reason":"op","resting_ms":600}`,
	}
	events := journal.Events(3, 17, commit)
	if len(events) != len(want) {
		t.Fatalf("%d events, want %d", len(events), len(want))
	}
	for i, e := range events {
		if got := string(e.AppendJSON(nil)); got != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}
	last := make(map[string][]string)
	events[0].SetHeader(last)
	events[4].SetHeader(last)
	for header, want := range map[string]string{
		"Holdfast-Event": "BROKEN", "Fencing-Token": "000000000000005", "Nats-Msg-Id": "3.17.5",
	} {
		if got := last[header]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}
