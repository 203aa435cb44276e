package messages_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// Keys and hashes are part of what is stored: another value here is another format.
func TestRecordKey(t *testing.T) {
	for want, r := range map[string]*messages.Record{
		"journal.18446744073709551615": {Body: &messages.Record_Commit{Commit: &messages.Commit{Number: 1<<64 - 1}}},
		"state.p":                      {Body: &messages.Record_Page{Page: &messages.Page{}}},
		"state.p011":                   {Body: &messages.Record_Page{Page: &messages.Page{Prefix: 3, Depth: 3}}},
	} {
		if got, err := r.Key(); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", r.Describe(), got, err, want)
		}
	}
	if got, err := new(messages.Record).Key(); err == nil {
		t.Errorf("a record without a body belongs at %q", got)
	}
}

func TestPageCovers(t *testing.T) {
	const resource, hash = "orders.42", 0xe1b9
	if got := messages.Hash(resource) >> 48; got != hash {
		t.Fatalf("the hash of %q begins with %#x, want %#x", resource, got, hash)
	}
	for _, c := range []struct {
		prefix, depth uint32
		want          bool
	}{
		{0, 0, true},
		{hash >> 15, 1, true},
		{0, 1, false},
		{hash, 16, true},
		{hash ^ 1, 16, false},
		{hash >> 8, 8, true},
		{hash & 0xff, 8, false},
		{uint32(messages.Hash(resource) >> 32), 32, true},
	} {
		p := &messages.Page{Prefix: c.prefix, Depth: c.depth}
		if got := p.Covers(resource); got != c.want {
			t.Errorf("page %s covers %q: %v", p.Name(), resource, got)
		}
	}
}
