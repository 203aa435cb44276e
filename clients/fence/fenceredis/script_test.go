package fenceredis_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
)

// TestScriptResults checks that a script sees its own keys and arguments and nothing of the guard's, and
// that its result comes back as if it had run alone.
func TestScriptResults(t *testing.T) {
	rdb := connect(t)
	g := mustNew(t, rdb)
	keys, args := []string{"key", "another"}, []string{"one", "", "three\x00\xff"}
	for name, body := range map[string]string{
		"keys":          `return KEYS`,
		"args":          `return ARGV`,
		"numbers":       `return #KEYS * 10 + #ARGV`,
		"guard's mark":  `return mark`,
		"guard's token": `return token`,
		"nothing":       ``,
		"nil":           `return nil`,
		"false":         `return false`,
		"true":          `return true`,
		"status":        `return redis.status_reply('FINE')`,
		"error":         `return redis.error_reply('MINE is not yours')`,
		"comment":       `return 1 -- at the end`,
		"several lines": "local n = 0\nfor i = 1, 3 do\n\tn = n + i\nend\nreturn n\n",
		"nested":        `return {1, {'two', {}}, '3'}`,
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := rdb.Eval(t.Context(), body, keys, "one", "", "three\x00\xff").Result()
			if errors.Is(wantErr, redis.Nil) {
				wantErr = nil
			}
			got, err := g.Run(t.Context(), claim(t, 33), fenceredis.NewScript(body), keys, args...)
			if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%#v, %v, want %#v, %v", got, err, want, wantErr)
			}
			if wantErr == nil {
				return
			}
			reason, _, _ := strings.Cut(wantErr.Error(), " script: ") // what follows is the hash
			if err != nil && !strings.Contains(err.Error(), reason) {
				t.Errorf("%v, want %v", err, wantErr)
			}
		})
	}
}

// TestScriptStopsHalfWay checks the order: the mark stands before the script writes, since nothing is
// rolled back.
func TestScriptStopsHalfWay(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 34)
	halfWay := fenceredis.NewScript("redis.call('SET', KEYS[1], ARGV[1])\nerror('half-way')")
	_, err := g.Run(t.Context(), c, halfWay, []string{c.Resource}, "by 34")
	if err == nil || !strings.Contains(err.Error(), "user_script:2: half-way") {
		t.Errorf("%v, want the script's error, in the line where its author has it", err)
	}
	if got := rdb.Get(t.Context(), c.Resource).Val(); got != "by 34" {
		t.Errorf("the value is %q, want what the script had written", got)
	}
	c.Token = 33
	if err := g.Set(t.Context(), c, c.Resource, "lost", 0); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a lower token after a script that failed: %v, want ErrStale", err)
	}
}

// TestBrokenScript checks that a script which the server cannot read has no effect.
func TestBrokenScript(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 34)
	for _, body := range []string{`return return`, "#!lua\nreturn 1", `end end`} {
		_, err := g.Run(t.Context(), c, fenceredis.NewScript(body), nil)
		if err == nil || !strings.Contains(err.Error(), "compiling script") {
			t.Errorf("%q: %v, want that it does not compile", body, err)
		}
	}
	if n := rdb.Exists(t.Context(), g.MarkKey(c.Resource)).Val(); n != 0 {
		t.Error("the mark was raised")
	}
}

// TestForgottenScript checks that a server without the script gets it, once, and is then asked by hash.
func TestForgottenScript(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: startRedis(t).Addr})
	t.Cleanup(func() { rdb.Close() })
	var sent []string
	g, err := fenceredis.New(func(ctx context.Context, args ...any) (any, error) {
		sent = append(sent, args[0].(string))
		return rdb.Do(ctx, args...).Result()
	})
	if err != nil {
		t.Fatal(err)
	}
	raise := func(token fence.Token) {
		if err := g.Raise(t.Context(), claim(t, token)); err != nil {
			t.Fatal(err)
		}
	}
	raise(1)
	raise(2)
	rdb.ScriptFlush(t.Context())
	raise(3)
	if got, want := strings.Join(sent, " "), "EVALSHA EVAL EVALSHA EVALSHA EVAL"; got != want {
		t.Errorf("sent were %s, want %s", got, want)
	}
}
