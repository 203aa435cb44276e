package messages_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
)

// A qualified name is that of one tenant and one resource only, and no client can send it.
func TestQualify(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tenant := rapid.StringMatching(`[A-Za-z0-9_=-]{0,20}`).Draw(t, "tenant")
		name := rapid.StringMatching(`[ -~äé]{1,40}`).Draw(t, "name")
		qualified := messages.Qualify(tenant, name)
		if gotTenant, gotName := messages.Unqualify(qualified); gotTenant != tenant || gotName != name {
			t.Fatalf("%q of %q became %q of %q", name, tenant, gotName, gotTenant)
		}
		if _, err := messages.EncodeKey(qualified); (err == nil) != (tenant == "") {
			t.Fatalf("%q can be sent by a client: %v", qualified, err)
		}
	})
}

// The sessions of two tenants with the same id differ, and show the same label.
func TestSessionHashOfTenants(t *testing.T) {
	const id = "0123456789abcdef"
	own, a, b := messages.SessionHash(id), messages.SessionHash(messages.Qualify("A", id)),
		messages.SessionHash(messages.Qualify("B", id))
	if bytes.Equal(own, a) || bytes.Equal(a, b) {
		t.Error("two tenants share a session")
	}
	if label := messages.SessionLabel(own); messages.SessionLabel(a) != label || messages.SessionLabel(b) != label {
		t.Errorf("the labels differ: %s, %s and %s", label, messages.SessionLabel(a), messages.SessionLabel(b))
	}
}

func TestCheckTenant(t *testing.T) {
	for tenant, ok := range map[string]bool{
		"ORDERS": true, "$G": true, "a-b_c": true, "": false, "a.b": false, "*": false, ">": false, "a b": false,
		"a\nb": false,
	} {
		if err := messages.CheckTenant(tenant); (err == nil) != ok {
			t.Errorf("%q: %v", tenant, err)
		}
	}
}

// The key of a qualified name is that of the resource, and only of what Qualify can have returned there is one.
func TestKeyOf(t *testing.T) {
	for qualified, want := range map[string]string{
		"document:123": "document=3A123", messages.Qualify("ORDERS", "document:123"): "document=3A123",
		messages.Qualify("A.B", "a"): "", messages.Qualify("A", ""): "", "": "", "\x1fA": "", "\x1f\x1fa": "",
		"a\x1fb": "",
		messages.Qualify("A", messages.Qualify("B", "c")): "",
	} {
		if got, err := messages.KeyOf(qualified); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", qualified, got, err)
		}
	}
}

func TestQuoteResource(t *testing.T) {
	for qualified, want := range map[string]string{
		"a b": `"a b"`, messages.Qualify("ORDERS", "a b"): `"a b" of tenant "ORDERS"`,
	} {
		if got := messages.QuoteResource(qualified); got != want {
			t.Errorf("%q: %s", qualified, got)
		}
	}
}
