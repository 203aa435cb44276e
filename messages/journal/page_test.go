package journal_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// The hash is part of the stored format: it assigns resources to pages.
func TestHash(t *testing.T) {
	for resource, want := range map[string]uint64{
		"":          0xef46db3751d8e999,
		"orders.42": 0xe1b9ffb9a6e0c26f,
		"café":      0x9a40a9b974d85a6a,
	} {
		if got := journal.Hash(resource); got != want {
			t.Errorf("%q: %#x, want %#x", resource, got, want)
		}
	}
}

// At each depth exactly one page covers a resource, and its name begins with the name of the page that it was
// split from.
func TestPagesOfAResource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resource := rapid.String().Draw(t, "resource")
		parent := "p"
		for depth := range uint32(33) {
			page := &journal.Page{Prefix: journal.Bits(journal.Hash(resource), depth), Depth: depth}
			name := page.Name()
			if !page.Covers(resource) || len(name) != 1+int(depth) || !strings.HasPrefix(name, parent) {
				t.Fatalf("depth %d: page %s behind %s, covers %q: %t", depth, name, parent, resource,
					page.Covers(resource))
			}
			if depth > 0 {
				if page.Prefix ^= 1 << rapid.Uint32Range(0, depth-1).Draw(t, "bit"); page.Covers(resource) {
					t.Fatalf("page %s covers %q too", page.Name(), resource)
				}
			}
			parent = name
		}
	})
}

func TestNames(t *testing.T) {
	grant := &journal.Grant{Resource: "granted"}
	for want, got := range map[string]string{
		"granted":  (&journal.Entry{Grant: grant, Resource: "other"}).Name(),
		"free":     (&journal.Entry{Resource: "free"}).Name(),
		"changed":  (&journal.Change{Grant: &journal.Grant{Resource: "changed"}, Resource: "other"}).Name(),
		"reserved": (&journal.Change{Resource: "reserved"}).Name(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
