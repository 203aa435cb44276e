package archive_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/blindtest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

var update = flag.Bool("update", false, "write the fixture of the present format")

// sample is a backup of two shards with resources of every kind.
func sample(tb testing.TB) []byte {
	tb.Helper()
	return sampleOf(tb, "v1")
}

// sampleOf is the same, written by a version.
func sampleOf(tb testing.TB, version string) []byte {
	tb.Helper()
	var file bytes.Buffer
	w, err := archive.NewWriter(&file, &archive.Header{Prefix: "holdfast", Shards: 2, Version: version,
		AtMs: 1_700_000_000_000})
	if err != nil {
		tb.Fatal(err)
	}
	held := &journal.Grant{
		Resource: "held", Owner: "o", Token: 7, TtlMs: 30_000, AcquiredAtMs: 1_700_000_000_000, RequestId: "r",
		Metadata: map[string]string{"k": "v"}, DelayMs: 1000, Confirm: true, SecretHash: bytes.Repeat([]byte{1}, 32),
	}
	reader := func(token uint64) *journal.Grant {
		return &journal.Grant{
			Owner: "reader", Token: token, TtlMs: 1000, Limit: 9, Slots: []uint32{uint32(token)}, Phase: 3,
			Session: bytes.Repeat([]byte{2}, 16),
		}
	}
	last := reader(4)
	last.Resource = "shared"
	shards := [][]*journal.Entry{{
		{Grant: held, State: messages.Event_ACQUIRED, UsedMs: 5},
		{Grant: last, State: messages.Event_ACQUIRED, Others: []*journal.Grant{reader(3)}},
		{
			Grant: &journal.Grant{Resource: "lost", Owner: "o", Token: 2, DelayMs: 10}, State: messages.Event_EXPIRED,
			Lost: []*journal.Loss{{Grant: &journal.Grant{Owner: "o", Token: 2, DelayMs: 10},
				How: messages.Event_EXPIRED}},
		},
	}, {
		{Grant: &journal.Grant{Resource: "free", Token: 9}, State: messages.Event_RELEASED, OwnerDigest: 17, UsedMs: 6},
		{Resource: "reserved", Reserved: 1000, UsedMs: 7},
	}}
	for shard, entries := range shards {
		number := uint64(shard + 3)
		if err := w.Shard(&archive.Shard{Shard: uint32(shard), Position: 10, Number: number, Epoch: 2}); err != nil {
			tb.Fatal(err)
		}
		for half := range uint32(2) {
			p := &journal.Page{Prefix: half, Depth: 1, Number: number, Epoch: 2, Floor: 11}
			for _, e := range entries {
				if p.Covers(e.Name()) {
					p.Entries = append(p.Entries, e)
				}
			}
			if err := w.Page(p); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// decode reads a whole file.
func decode(file []byte) (records []*archive.Record, err error) {
	r, err := archive.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, record)
	}
}

func isRefused(err error) bool {
	return errors.Is(err, archive.ErrDamaged) || errors.Is(err, archive.ErrForeign) || errors.Is(err, archive.ErrNewer)
}

// A file that was cut is refused, wherever that was.
func TestEveryCutIsRefused(t *testing.T) {
	t.Parallel()
	file := sample(t)
	for length := range file {
		if _, err := decode(file[:length]); !isRefused(err) {
			t.Fatalf("cut to %d of %d bytes: %v", length, len(file), err)
		}
	}
	if _, err := decode(append(file, 0)); !isRefused(err) {
		t.Errorf("a byte behind the end: %v", err)
	}
}

// A file in which one bit was changed is refused, whichever it was.
func TestEveryChangedBitIsRefused(t *testing.T) {
	t.Parallel()
	file := sample(t)
	for bit := range 8 * len(file) {
		file[bit/8] ^= 1 << (bit % 8)
		if _, err := decode(file); !isRefused(err) {
			t.Fatalf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
		file[bit/8] ^= 1 << (bit % 8)
	}
}

// A file of which a part was lost, repeated or overwritten is refused.
func TestMovedPartsAreRefused(t *testing.T) {
	t.Parallel()
	whole := sample(t)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(whole)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(whole)).Draw(t, "to")
		at := rapid.IntRange(0, len(whole)).Draw(t, "at")
		file := bytes.Clone(whole[:at])
		switch rapid.SampledFrom([]string{"insert", "remove", "overwrite"}).Draw(t, "how") {
		case "insert":
			file = append(append(file, whole[from:to]...), whole[at:]...)
		case "remove":
			file = append(bytes.Clone(whole[:from]), whole[to:]...)
		default:
			file = append(append(file, whole[from:to]...), whole[min(at+to-from, len(whole)):]...)
		}
		if bytes.Equal(file, whole) {
			return
		}
		if _, err := decode(file); !isRefused(err) {
			t.Fatalf("error %v", err)
		}
	})
}

// A file made of parts of two whole ones is refused, wherever it was put together.
func TestMixedFilesAreRefused(t *testing.T) {
	t.Parallel()
	one, other := sampleOf(t, "v1"), sampleOf(t, "v2")
	for at := range one {
		mixed := append(bytes.Clone(one[:at]), other[at:]...)
		if bytes.Equal(mixed, one) || bytes.Equal(mixed, other) {
			continue
		}
		if _, err := decode(mixed); !isRefused(err) {
			t.Fatalf("put together at byte %d of %d: %v", at, len(one), err)
		}
	}
}

// Files of other kinds and of later versions are distinguished from damaged ones.
func TestForeignAndNewer(t *testing.T) {
	t.Parallel()
	if _, err := decode([]byte("PK\x03\x04 some other file, longer than a magic")); !errors.Is(err, archive.ErrForeign) {
		t.Errorf("another file: %v", err)
	}
	for _, h := range []*archive.Header{
		{Shards: 1, Format: archive.Format + 1, JournalFormat: journal.Format},
		{Shards: 1, Format: archive.Format, JournalFormat: journal.Format + 1},
	} {
		if _, err := decode(archive.Forge(encode(t, h))); !errors.Is(err, archive.ErrNewer) || !strings.Contains(err.Error(), "upgrade") {
			t.Errorf("a newer file: %v", err)
		}
	}
}

// A file with all its checksums is refused if it lacks a shard or a page, or has one that is out of place.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	left, right, whole := &journal.Page{Depth: 1}, &journal.Page{Depth: 1, Prefix: 1}, &journal.Page{}
	foreign := &journal.Page{Entries: []*journal.Entry{{Resource: "\x00", Reserved: 1}}}
	for name, c := range map[string]struct {
		shards uint32
		pages  [][]*journal.Page
		whole  bool
	}{
		"Whole":       {2, [][]*journal.Page{{left, right}, {whole}}, true},
		"NoShard":     {1, nil, false},
		"ShardLacks":  {2, [][]*journal.Page{{left, right}}, false},
		"ShardToMany": {1, [][]*journal.Page{{whole}, {whole}}, false},
		"FirstLacks":  {1, [][]*journal.Page{{right}}, false},
		"LastLacks":   {1, [][]*journal.Page{{left}}, false},
		"AmidLacks":   {2, [][]*journal.Page{{left}, {whole}}, false},
		"Twice":       {1, [][]*journal.Page{{left, left, right}}, false},
		"TooMany":     {1, [][]*journal.Page{{whole, whole}}, false},
		"NoPage":      {1, [][]*journal.Page{{}}, false},
		"BadName":     {1, [][]*journal.Page{{foreign}}, false},
	} {
		var file bytes.Buffer
		w, err := archive.NewWriter(&file, &archive.Header{Shards: c.shards})
		for shard, pages := range c.pages {
			err = errors.Join(err, w.Shard(&archive.Shard{Shard: uint32(shard)}))
			for _, p := range pages {
				err = errors.Join(err, w.Page(p))
			}
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := decode(file.Bytes()); c.whole != (err == nil) ||
			err != nil && !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// encode returns a header as the bytes of a record.
func encode(tb testing.TB, h *archive.Header) []byte {
	tb.Helper()
	data, err := proto.Marshal(&archive.Record{Body: &archive.Record_Header{Header: h}})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// fixture is a file that the first version of the format wrote.
var fixture = filepath.Join("testdata", "format1.backup")

// Every later version reads the files of the first one.
func TestFormat1(t *testing.T) {
	t.Parallel()
	if *update {
		if err := os.WriteFile(fixture, sample(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	want, err := decode(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			t.Errorf("record %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// No input makes the reader panic or read without end.
func FuzzReader(f *testing.F) {
	target := blindtest.New(f)
	target.Add(sample(f))
	target.Add([]byte(archive.Magic))
	target.Fuzz(func(t *testing.T, file []byte) {
		if _, err := decode(file); err != nil && !isRefused(err) {
			t.Fatal(err)
		}
	})
}

// The same for records with the right checksums: what is accepted has a page for each hash of each shard.
func FuzzRecords(f *testing.F) {
	target := blindtest.New(f)
	var seeds [][]byte
	records, err := decode(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range records {
		data, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	target.Add(encode(f, &archive.Header{Shards: 1, Format: 1, JournalFormat: 1}), seeds[0], seeds[1], seeds[2])
	target.Fuzz(func(t *testing.T, header, shard, left, right []byte) {
		records, err := decode(archive.Forge(header, shard, left, right))
		if err != nil && !isRefused(err) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		covered := 0.0
		for _, r := range records {
			if p := r.GetPage(); p != nil {
				covered += 1 / float64(uint64(1)<<p.GetDepth())
			}
		}
		if records[0].GetShard() == nil || covered < 1 {
			t.Fatalf("accepted with %v of a shard: %v", covered, records)
		}
	})
}
