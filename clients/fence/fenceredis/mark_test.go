package fenceredis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// FuzzMarkKey looks for two resources with one mark, which the example inputs are made to be.
func FuzzMarkKey(f *testing.F) {
	target := blindtest.New(f)
	g, err := fenceredis.New(func(context.Context, ...any) (any, error) { return nil, errors.New("sent") })
	if err != nil {
		f.Fatal(err)
	}
	for _, pair := range [][2]string{
		{"a", "{a}"}, {"a", "{a}a"}, {"a}b", "a%7Db"}, {"{a}b", "b{a}"}, {"}", "%7D"}, {"{}", "{%7D"},
		{"{a}", "{a}{a}"}, {"a}", "a}a}"}, {"{a", "{a}"}, {"", "{}"}, {"a}{a}", "a"},
	} {
		target.Add(pair[0], pair[1])
	}
	target.Fuzz(func(t *testing.T, one, other string) {
		if key := g.MarkKey(one); one != other && key == g.MarkKey(other) {
			t.Errorf("%q and %q share the mark %q", one, other, key)
		}
	})
}

// TestMarksAreOutOfReach checks that no write can be aimed at a mark.
func TestMarksAreOutOfReach(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 34)
	if err := g.Raise(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	mark := g.MarkKey(c.Resource)
	attacker := fence.Claim{Resource: "another", Token: 1}
	_, runError := g.Run(t.Context(), attacker, fenceredis.NewScript(`redis.call('DEL', KEYS[2])`),
		[]string{"key", mark})
	for name, err := range map[string]error{
		"Set":                 g.Set(t.Context(), attacker, mark, "000000000000001", 0),
		"HSet":                g.HSet(t.Context(), attacker, mark, map[string]string{"a": "b"}),
		"Del":                 g.Del(t.Context(), attacker, "key", mark),
		"Run":                 runError,
		"of no resource":      g.Set(t.Context(), attacker, fenceredis.DefaultPrefix, "", 0),
		"named like its mark": g.Set(t.Context(), fence.Claim{Resource: mark, Token: 1}, mark, "", 0),
	} {
		if !errors.Is(err, fence.ErrInvalid) || !strings.Contains(err.Error(), fenceredis.DefaultPrefix) {
			t.Errorf("%s: %v, want one that is ErrInvalid and names the prefix", name, err)
		}
	}
	if got := rdb.Get(t.Context(), mark).Val(); got != c.Token.String() {
		t.Errorf("the mark is %q, want %q", got, c.Token)
	}
	if n := rdb.Exists(t.Context(), g.MarkKey(attacker.Resource)).Val(); n != 0 {
		t.Error("what was refused has raised a mark")
	}
}

// TestAccessRules checks the rules that the package's documentation gives: with the guard's they are
// enough, with those of others no mark can be written.
func TestAccessRules(t *testing.T) {
	admin := connect(t)
	user := func(name string, rules ...any) *redis.Client {
		if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER", name, "reset", "on", ">secret", "+@all"},
			rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
		rdb := redis.NewClient(&redis.Options{Addr: addr, Username: name, Password: "secret"})
		t.Cleanup(func() { rdb.Close() })
		return rdb
	}
	g, c := mustNew(t, user("guard", "~orders:*", "~"+fenceredis.DefaultPrefix+"*")), claim(t, 34)
	if err := g.Set(t.Context(), c, "orders:1", "value", 0); err != nil {
		t.Errorf("the guard's user: %v", err)
	}
	other := user("other", "~orders:*")
	if err := other.Set(t.Context(), "orders:1", "unguarded", 0).Err(); err != nil {
		t.Errorf("another user, its own key: %v", err)
	}
	if err := other.Del(t.Context(), g.MarkKey(c.Resource)).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("another user, a mark: %v, want NOPERM", err)
	}
}

// TestResourceLikeMark checks that a resource may be named like a mark: the mark of that is another key.
func TestResourceLikeMark(t *testing.T) {
	g, c := mustNew(t, connect(t)), claim(t, 34)
	like := fence.Claim{Resource: g.MarkKey(c.Resource), Token: 1}
	if err := errors.Join(g.Raise(t.Context(), c), g.Raise(t.Context(), like)); err != nil {
		t.Fatal(err)
	}
	c.Token = 33
	if err := g.Raise(t.Context(), c); !errors.Is(err, fence.ErrStale) {
		t.Errorf("after a claim of a resource named like the mark: %v, want ErrStale", err)
	}
}

// TestPrefixes checks that guards with different prefixes do not share marks, also if one prefix begins
// like another.
func TestPrefixes(t *testing.T) {
	rdb := connect(t)
	c := claim(t, 34)
	for _, prefix := range []string{"one:", "one:two:", "one"} {
		g := mustNew(t, rdb, fenceredis.WithPrefix(prefix), fenceredis.WithRule(fence.Once))
		if err := g.Raise(t.Context(), c); err != nil {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// TestMarkDoesNotExpire checks that data that goes does not take its mark along.
func TestMarkDoesNotExpire(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 34)
	if err := g.Set(t.Context(), c, c.Resource, "short", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if ttl := rdb.TTL(t.Context(), g.MarkKey(c.Resource)).Val(); ttl != -1 {
		t.Errorf("the mark lives for %v, want for ever", ttl)
	}
	if err := g.Del(t.Context(), c, c.Resource); err != nil {
		t.Fatal(err)
	}
	c.Token = 33
	if err := g.Set(t.Context(), c, c.Resource, "lost", 0); !errors.Is(err, fence.ErrStale) {
		t.Errorf("after the data has gone: %v, want ErrStale", err)
	}
}

func TestForeignMark(t *testing.T) {
	rdb := connect(t)
	for name, mark := range map[string]string{
		"empty": "", "short": "34", "long": "0000000000000034", "text": "abcdefghijklmno", "sign": "+00000000000034",
		"letter": "00000000000003x", "zero": "000000000000000", "too high": "900000000000001",
		"bytes": "\x00\xff\n00000000034",
	} {
		t.Run(name, func(t *testing.T) {
			g, c := mustNew(t, rdb), claim(t, 34)
			rdb.Set(t.Context(), g.MarkKey(c.Resource), mark, 0)
			wantForeign(t, g, c)
			if got := rdb.Get(t.Context(), g.MarkKey(c.Resource)).Val(); got != mark {
				t.Errorf("the mark is now %q", got)
			}
		})
	}
	t.Run("hash", func(t *testing.T) {
		g, c := mustNew(t, rdb), claim(t, 34)
		rdb.HSet(t.Context(), g.MarkKey(c.Resource), "field", "value")
		wantForeign(t, g, c)
	})
}

func wantForeign(t *testing.T, g *fenceredis.Guard, c fence.Claim) {
	t.Helper()
	err := g.Set(t.Context(), c, c.Resource, "lost", 0)
	if !errors.Is(err, fence.ErrMalformed) || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrInvalid) {
		t.Fatalf("%v, want one that is ErrMalformed", err)
	}
	if !strings.Contains(err.Error(), g.MarkKey(c.Resource)) {
		t.Errorf("%v, which does not name the key of the mark", err)
	}
	if n := connect(t).Exists(t.Context(), c.Resource).Val(); n != 0 {
		t.Error("the write was made")
	}
}
