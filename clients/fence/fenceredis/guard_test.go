package fenceredis_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
)

func TestWrongOptions(t *testing.T) {
	nothing := func(context.Context, ...any) (any, error) { return nil, errors.New("called") }
	for name, tried := range map[string]func() (*fenceredis.Guard, error){
		"no driver":    func() (*fenceredis.Guard, error) { return fenceredis.New(nil) },
		"rule":         func() (*fenceredis.Guard, error) { return fenceredis.New(nothing, fenceredis.WithRule(7)) },
		"empty prefix": func() (*fenceredis.Guard, error) { return fenceredis.New(nothing, fenceredis.WithPrefix("")) },
		"tagged": func() (*fenceredis.Guard,
			error) {
			return fenceredis.New(nothing, fenceredis.WithPrefix("{a}:"))
		},
	} {
		if _, err := tried(); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want one that is ErrInvalid", name, err)
		}
	}
}

// TestWrongUse checks that what makes no sense never reaches the server.
func TestWrongUse(t *testing.T) {
	g, err := fenceredis.New(func(_ context.Context, args ...any) (any, error) {
		t.Errorf("%v was sent", args)
		return nil, errors.New("sent")
	})
	if err != nil {
		t.Fatal(err)
	}
	c := claim(t, 33)
	for name, err := range map[string]error{
		"negative ttl": g.Set(t.Context(), c, "key", "", -time.Second),
		"tiny ttl":     g.Set(t.Context(), c, "key", "", time.Microsecond),
		"no fields":    g.HSet(t.Context(), c, "key", nil),
		"no keys":      g.Del(t.Context(), c),
		"no token":     g.Set(t.Context(), fence.Claim{Resource: "r"}, "key", "", 0),
		"no resource":  g.Raise(t.Context(), fence.Claim{Token: 33}),
	} {
		if !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want one that is ErrInvalid", name, err)
		}
	}
}

func TestExpiry(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 33)
	if err := g.Set(t.Context(), c, c.Resource, "for an hour", time.Hour); err != nil {
		t.Fatal(err)
	}
	if ttl := rdb.PTTL(t.Context(), c.Resource).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("the value lives for %v, want up to an hour", ttl)
	}
	if err := g.Set(t.Context(), c, c.Resource, "for ever", 0); err != nil {
		t.Fatal(err)
	}
	if ttl := rdb.PTTL(t.Context(), c.Resource).Val(); ttl != -1 {
		t.Errorf("the value lives for %v, want for ever", ttl)
	}
}

// TestManyFields is more than Lua can pass to one command.
func TestManyFields(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 33)
	fields := map[string]string{}
	for i := range 10_000 {
		fields[strconv.Itoa(i)] = fmt.Sprintf("value %d", i)
	}
	if err := g.HSet(t.Context(), c, c.Resource, fields); err != nil {
		t.Fatal(err)
	}
	got := rdb.HGetAll(t.Context(), c.Resource).Val()
	if len(got) != len(fields) || got["9999"] != "value 9999" {
		t.Errorf("%d fields, want %d", len(got), len(fields))
	}
}

func TestDel(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 33)
	keys := []string{c.Resource + "/1", c.Resource + "/2"}
	for _, key := range keys {
		if err := g.Set(t.Context(), c, key, "value", 0); err != nil {
			t.Fatal(err)
		}
	}
	c.Token = 32
	if err := g.Del(t.Context(), c, keys...); !errors.Is(err, fence.ErrStale) {
		t.Errorf("%v, want ErrStale", err)
	}
	c.Token = 34
	if err := g.Del(t.Context(), c, append(keys, "never there")...); err != nil {
		t.Fatal(err)
	}
	if n := rdb.Exists(t.Context(), keys...).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// TestWriteFails checks that the server's own error comes through, and the mark is raised nevertheless.
func TestWriteFails(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb, fenceredis.WithRule(fence.Once)), claim(t, 33)
	rdb.Set(t.Context(), c.Resource, "a string", 0)
	err := g.HSet(t.Context(), c, c.Resource, map[string]string{"field": "value"})
	if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("%v, want WRONGTYPE", err)
	}
	if err := g.Set(t.Context(), c, c.Resource, "again", 0); !errors.Is(err, fence.ErrSpent) {
		t.Errorf("%v, want ErrSpent: the token was used", err)
	}
}

// TestOtherDrivers checks the replies as redigo has them, and those of something that is no driver.
func TestOtherDrivers(t *testing.T) {
	c := claim(t, 33)
	for name, reply := range map[string]any{
		"passed":  []any{[]byte("passed"), []byte("result")},
		"refused": []any{[]byte("refused"), []byte("000000000000034")},
		"foreign": []any{[]byte("foreign"), []byte("WRONGTYPE")},
		"nothing": nil, "text": "passed", "one": []any{"passed"}, "unknown": []any{"fine", nil},
		"malformed": []any{"refused", "34"},
	} {
		g, err := fenceredis.New(func(context.Context, ...any) (any, error) { return reply, nil })
		if err != nil {
			t.Fatal(err)
		}
		err = g.Raise(t.Context(), c)
		switch name {
		case "passed":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case "refused":
			if !errors.Is(err, fence.ErrStale) {
				t.Errorf("%s: %v, want ErrStale", name, err)
			}
		case "foreign":
			if !errors.Is(err, fence.ErrMalformed) {
				t.Errorf("%s: %v, want ErrMalformed", name, err)
			}
		default:
			if err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrMalformed) {
				t.Errorf("%s: %v, want that the reply is strange", name, err)
			}
		}
	}
}

// TestModify keeps the expiry of a key, tells an empty value from none, and fails where no string is.
func TestModify(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 33)
	var seen [][]byte
	modify := func(key string) error {
		return g.Modify(t.Context(), c, key, func(old []byte) ([]byte, error) {
			seen = append(seen, old)
			return nil, nil
		})
	}
	if err := modify(c.Resource); err != nil {
		t.Fatal(err)
	}
	if err := g.Set(t.Context(), c, c.Resource, "", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := modify(c.Resource); err != nil {
		t.Fatal(err)
	}
	if ttl := rdb.PTTL(t.Context(), c.Resource).Val(); ttl <= 0 {
		t.Errorf("the key expires after %v", ttl)
	}
	if len(seen) != 2 || seen[0] != nil || seen[1] == nil {
		t.Errorf("saw %#v", seen)
	}
	hash := fenceredis.Tag(c.Resource) + ":hash"
	if err := g.HSet(t.Context(), c, hash, map[string]string{"a": "b"}); err != nil {
		t.Fatal(err)
	}
	if err := modify(hash); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("a hash: %v", err)
	}
	if err := modify(g.MarkKey("other")); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("a mark: %v", err)
	}
}
