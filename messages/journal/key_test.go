package journal_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages/blindtest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func commitRecord(number uint64) *journal.Record {
	return &journal.Record{Format: journal.Format,
		Body: &journal.Record_Commit{Commit: &journal.Commit{Number: number, Epoch: 2}}}
}

func pageRecord(prefix, depth uint32) *journal.Record {
	return &journal.Record{Format: journal.Format,
		Body: &journal.Record_Page{Page: &journal.Page{Prefix: prefix, Depth: depth, Number: 9}}}
}

// The keys are part of the stored format.
func TestKeysOfRecords(t *testing.T) {
	for want, r := range map[string]*journal.Record{
		"journal.1":                         commitRecord(1),
		"journal.18446744073709551615":      commitRecord(1<<64 - 1),
		"state.p":                           pageRecord(0, 0),
		"state.p001":                        pageRecord(1, 3),
		"state.p" + strings.Repeat("1", 32): pageRecord(1<<32-1, 32),
	} {
		key, data, err := journal.Encode(r)
		if err != nil || key != want {
			t.Errorf("%s: got %q, %v", want, key, err)
			continue
		}
		if got, err := journal.Decode(key, data); err != nil || !proto.Equal(got, r) {
			t.Errorf("%s reads back as %v, %v", key, got, err)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	newer := commitRecord(3)
	newer.Format++
	for name, test := range map[string]struct {
		record    *journal.Record
		key, want string
	}{
		"no body":      {&journal.Record{Format: journal.Format}, "", "neither a commit nor a page"},
		"no format":    {&journal.Record{Body: commitRecord(3).GetBody()}, "journal.3", "no format"},
		"newer format": {newer, "journal.3", "format 6 is newer than 5"},
	} {
		key, data, err := journal.Encode(test.record)
		if key != test.key || data != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %d bytes, %v", name, key, len(data), err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	newer := commitRecord(3)
	newer.Format++
	for name, test := range map[string]struct {
		key  string
		data []byte
		want string
	}{
		"foreign key":  {"mine", marshal(t, commitRecord(3)), "not a key of Holdfast"},
		"not a record": {"journal.3", []byte("garbage"), "not a record"},
		"empty":        {"journal.3", nil, "no format"},
		"no body": {"journal.3", marshal(t, &journal.Record{Format: journal.Format}),
			"neither a commit nor a page"},
		"newer format": {"journal.3", marshal(t, newer), "format 6 is newer than 5"},
		"other commit's key": {"journal.4", marshal(t, commitRecord(3)),
			"holds the commit 3 of epoch 2, which belongs at journal.3"},
		"other spelling":   {"journal.03", marshal(t, commitRecord(3)), "belongs at journal.3"},
		"commit as a page": {"state.p", marshal(t, commitRecord(3)), "belongs at journal.3"},
		"other page's key": {"state.p0", marshal(t, pageRecord(1, 1)),
			"holds the page p1 at commit 9, which belongs at state.p1"},
	} {
		if r, err := journal.Decode(test.key, test.data); r != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

// What can be decoded belongs under its key, and is encoded to the same record under the same key.
func FuzzDecode(f *testing.F) {
	target := blindtest.New(f)
	for _, r := range []*journal.Record{commitRecord(3), pageRecord(0, 0), pageRecord(5, 3), {Format: journal.Format}} {
		key, _ := r.Key()
		target.Add(key, marshal(f, r))
	}
	target.Add("journal.03", marshal(f, commitRecord(3)))
	target.Fuzz(func(t *testing.T, key string, data []byte) {
		r, err := journal.Decode(key, data)
		if err != nil {
			return
		}
		again, data, err := journal.Encode(r)
		if err != nil || again != key {
			t.Fatalf("%q is encoded under %q, %v", key, again, err)
		}
		if back, err := journal.Decode(key, data); err != nil || !proto.Equal(back, r) {
			t.Errorf("%q reads back as %v, %v; want %v", key, back, err, r)
		}
	})
}

func marshal(tb testing.TB, r *journal.Record) []byte {
	tb.Helper()
	data, err := proto.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
