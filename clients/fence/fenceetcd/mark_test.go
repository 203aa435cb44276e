package fenceetcd_test

import (
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceetcd"
)

// TestMarksAreOutOfReach checks that no operation can be aimed at a mark, by its name or by a range.
func TestMarksAreOutOfReach(t *testing.T) {
	kv := connect(t, addr)
	g, c := mustNew(t, kv, fenceetcd.WithPrefix("marks/")), claim(t, 34)
	if err := g.Raise(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	mark, attacker := g.MarkKey(c.Resource), claim(t, 1)
	for name, op := range map[string]clientv3.Op{
		"put":                clientv3.OpPut(mark, "000000000000001"),
		"put the prefix":     clientv3.OpPut("marks/", ""),
		"get":                clientv3.OpGet(mark),
		"delete":             clientv3.OpDelete(mark),
		"its prefix":         clientv3.OpDelete("marks/", clientv3.WithPrefix()),
		"a shorter prefix":   clientv3.OpDelete("mar", clientv3.WithPrefix()),
		"a longer prefix":    clientv3.OpDelete(mark[:len(mark)-1], clientv3.WithPrefix()),
		"all":                clientv3.OpDelete("", clientv3.WithPrefix()),
		"from before":        clientv3.OpDelete("a", clientv3.WithFromKey()),
		"from inside":        clientv3.OpDelete("marks/z", clientv3.WithFromKey()),
		"range around":       clientv3.OpDelete("a", clientv3.WithRange("z")),
		"range into":         clientv3.OpDelete("a", clientv3.WithRange("marks/\x00")),
		"range out of":       clientv3.OpGet("marks/zz", clientv3.WithRange("z")),
		"nested":             clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpDelete(mark)}, nil),
		"nested, otherwise":  clientv3.OpTxn(nil, nil, []clientv3.Op{clientv3.OpDelete(mark)}),
		"nested twice":       clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(nil, put(mark, ""), nil)}, nil),
		"no operation":       {},
		"nested: none there": clientv3.OpTxn(nil, []clientv3.Op{{}}, nil),
	} {
		if _, err := g.Transact(t.Context(), attacker, append(put("a", "lost"), op)); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want one that is ErrInvalid", name, err)
		}
	}
	wantValue(t, kv, mark, c.Token.String())
	wantValue(t, kv, "a", "")
	wantValue(t, kv, g.MarkKey(attacker.Resource), "")
}

// TestBesideMarks checks that what is next to the marks may be written.
func TestBesideMarks(t *testing.T) {
	kv := connect(t, addr)
	g, c := mustNew(t, kv, fenceetcd.WithPrefix("next/marks/")), claim(t, 34)
	for name, op := range map[string]clientv3.Op{
		"shorter":        clientv3.OpPut("next/marks", "value"),
		"behind":         clientv3.OpPut("next/marks0", "value"),
		"range before":   clientv3.OpDelete("next/", clientv3.WithRange("next/marks/")),
		"range behind":   clientv3.OpDelete("next/marks0", clientv3.WithRange("next/z")),
		"other prefix":   clientv3.OpDelete("next/n", clientv3.WithPrefix()),
		"all of the end": clientv3.OpDelete("next/marks0", clientv3.WithFromKey()),
		"nested":         clientv3.OpTxn(nil, put("next/a", "value"), nil),
	} {
		if _, err := g.Transact(t.Context(), c, []clientv3.Op{op}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMarkOutlivesData checks that a mark does not go with the lease of its data.
func TestMarkOutlivesData(t *testing.T) {
	client := connect(t, addr)
	g, c := mustNew(t, client), claim(t, 34)
	key := "data/" + c.Resource
	lease, err := client.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Transact(t.Context(), c, []clientv3.Op{clientv3.OpPut(key, "leased", clientv3.WithLease(lease.ID))}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Revoke(t.Context(), lease.ID); err != nil {
		t.Fatal(err)
	}
	wantValue(t, client, key, "")
	c.Token = 33
	if _, err := g.Transact(t.Context(), c, put(key, "lost")); !errors.Is(err, fence.ErrStale) {
		t.Errorf("after the data has gone: %v, want ErrStale", err)
	}
}

// TestForeignMark has what people and programs put into a key that is not theirs.
func TestForeignMark(t *testing.T) {
	kv := connect(t, addr)
	for name, mark := range map[string]string{
		"empty": "", "short": "34", "zero": "0", "zero token": "000000000000000", "too high": "900000000000001",
		"text": "abc",
		"JSON": `{"token":34}`, "quoted": `"000000000000034"`, "sign": "-00000000000034", "bytes": "\x00\xff",
		"higher": "00000000000035",
		"letter": "00000000000003x",
	} {
		t.Run(name, func(t *testing.T) {
			g, c := foreign(t, kv, mark)
			_, err := g.Transact(t.Context(), c, put("data/"+c.Resource, "lost"))
			wantForeign(t, err, g.MarkKey(c.Resource))
			wantValue(t, kv, g.MarkKey(c.Resource), mark)
			wantValue(t, kv, "data/"+c.Resource, "")
		})
	}
}

// TestReplacedMark has what sorts among tokens: the error says what stood there.
func TestReplacedMark(t *testing.T) {
	kv := connect(t, addr)
	for name, mark := range map[string]string{"16 digits": "0000000000000035", "14 digits": "00000000000003",
		"space": "00000000000003 "} {
		t.Run(name, func(t *testing.T) {
			g, c := foreign(t, kv, mark)
			_, err := g.Transact(t.Context(), c, put("data/"+c.Resource, "by 34"))
			wantForeign(t, err, g.MarkKey(c.Resource), mark, "the write was made")
			wantValue(t, kv, g.MarkKey(c.Resource), c.Token.String())
			wantValue(t, kv, "data/"+c.Resource, "by 34")
		})
	}
}

func foreign(t *testing.T, kv clientv3.KV, mark string) (*fenceetcd.Guard, fence.Claim) {
	t.Helper()
	g, c := mustNew(t, kv), claim(t, 34)
	if _, err := kv.Put(t.Context(), g.MarkKey(c.Resource), mark); err != nil {
		t.Fatal(err)
	}
	return g, c
}

func wantForeign(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, fence.ErrMalformed) || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrInvalid) {
		t.Fatalf("%v, want one that is ErrMalformed", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%v, which does not say %q", err, s)
		}
	}
}
