package fenceredis_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
)

// repeating sends each command twice and returns the second reply, as a driver does that lost the first.
func repeating(rdb *redis.Client) fenceredis.Do {
	return func(ctx context.Context, args ...any) (any, error) {
		_, _ = rdb.Do(ctx, args...).Result()
		return rdb.Do(ctx, args...).Result()
	}
}

func mustRepeat(t *testing.T, rdb *redis.Client) *fenceredis.Guard {
	t.Helper()
	g, err := fenceredis.New(repeating(rdb))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestRepeatedResults checks that the reply to a repetition is the reply to the first try, and that the
// write was made once.
func TestRepeatedResults(t *testing.T) {
	rdb := connect(t)
	once, repeated := mustNew(t, rdb), mustRepeat(t, rdb)
	for name, result := range map[string]string{
		"nothing":  ``,
		"nil":      `nil`,
		"false":    `false`,
		"true":     `true`,
		"number":   `-34`,
		"large":    `9007199254740991`,
		"fraction": `3.75`,
		"text":     `'one\0\255'`,
		"status":   `redis.status_reply('FINE')`,
		"error":    `redis.error_reply('MINE is not yours')`,
		"nested":   `{1, {'two', {}}, '3'}`,
		"hole":     `{1, nil, 3}`,
	} {
		t.Run(name, func(t *testing.T) {
			script := fenceredis.NewScript("redis.call('INCR', KEYS[1])\nreturn " + result)
			first, other := claim(t, 33), claim(t, 33)
			want, wantErr := once.Run(t.Context(), first, script, []string{first.Resource})
			got, err := repeated.Run(t.Context(), other, script, []string{other.Resource})
			if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%#v, %v, want %#v, %v", got, err, want, wantErr)
			}
			if n := rdb.Get(t.Context(), other.Resource).Val(); n != "1" {
				t.Errorf("it was written %s times", n)
			}
		})
	}
}

// TestRepeatedBrokenScript checks that a script which stopped half-way is not run again.
func TestRepeatedBrokenScript(t *testing.T) {
	rdb := connect(t)
	c := claim(t, 33)
	halfWay := fenceredis.NewScript("redis.call('INCR', KEYS[1])\nerror('half-way')")
	if _, err := mustRepeat(t, rdb).Run(t.Context(), c, halfWay, []string{c.Resource}); !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("%v, want one that is ErrUnknown", err)
	}
	if n := rdb.Get(t.Context(), c.Resource).Val(); n != "1" {
		t.Errorf("it was written %s times", n)
	}
}

// TestWriteIsForgotten checks that what a write leaves beside its mark expires.
func TestWriteIsForgotten(t *testing.T) {
	rdb := connect(t)
	g, c := mustNew(t, rdb), claim(t, 33)
	if err := g.Raise(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	keys := rdb.Keys(t.Context(), fenceredis.DefaultPrefix+fenceredis.Tag(c.Resource)+":write:*").Val()
	if len(keys) != 1 {
		t.Fatalf("keys of the write: %q", keys)
	}
	if ttl := rdb.PTTL(t.Context(), keys[0]).Val(); ttl <= 0 || ttl > time.Minute {
		t.Errorf("the key of the write lives for %v, want up to a minute", ttl)
	}
}

// TestLateReply checks that a refusal is not believed which the server may have given without knowing of
// an earlier try.
func TestLateReply(t *testing.T) {
	for _, test := range []struct {
		after time.Duration
		want  error
	}{{59 * time.Second, fence.ErrStale}, {time.Minute, fence.ErrUnknown}} {
		synctest.Test(t, func(t *testing.T) {
			g, err := fenceredis.New(func(context.Context, ...any) (any, error) {
				<-time.After(test.after)
				return []any{"refused", "000000000000034"}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			err = g.Raise(t.Context(), fence.Claim{Resource: "r", Token: 33})
			if !errors.Is(err, test.want) || errors.Is(err, fence.ErrStale) == errors.Is(err, fence.ErrUnknown) {
				t.Errorf("after %v: %v, want %v", test.after, err, test.want)
			}
		})
	}
}

// TestTriesEnd checks that a driver is not let try until the server has forgotten its first try.
func TestTriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := fenceredis.New(func(ctx context.Context, _ ...any) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err = g.Raise(t.Context(), fence.Claim{Resource: "r", Token: 33})
		if !errors.Is(err, fence.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(begun) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}
