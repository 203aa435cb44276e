package fenceredis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// TestForeign runs the suite with the guards of other languages on the same server.
func TestForeign(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 100})
	t.Cleanup(func() { rdb.Close() })
	run := register{write: logValue, read: getValue, modify: modifyValue, history: loggedValues}
	subject := run.on(server, rdb, func(via func(string) string) redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: via(server.Addr)})
	})
	fencetest.RunForeign(t, subject, fencetest.Store{
		Names:   foreignNames,
		Address: func(via func(string) string) string { return via(server.Addr) },
		Keys:    func(resource string) []string { return []string{resource, logOf(resource)} },
		Script:  loggedBody,
	})
}

var foreignNames = map[string][]string{
	"python": {"redis", "redis.asyncio"}, "typescript": {"ioredis", "redis"},
}

// TestForeignCommands writes in each way that the guards of other languages have, by the scripts that Go has left on the
// server.
func TestForeignCommands(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { rdb.Close() })
	guard, c := mustNew(t, rdb), claim(t, 33)
	key, hash := c.Resource, c.Resource+":hash"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	same := func(old []byte) ([]byte, error) { return old, nil }
	must(guard.Set(t.Context(), c, key, "go", 0))
	must(guard.Modify(t.Context(), c, key, same))
	must(guard.HSet(t.Context(), c, hash, map[string]string{"by": "go"}))
	must(guard.Del(t.Context(), c, key))
	must(guard.Raise(t.Context(), c))
	scripts := cached(t, rdb)
	for _, f := range fencetest.StartForeign(t, foreignNames) {
		for _, name := range foreignNames[f.Language] {
			c.Token++
			foreign := f.Open(t, name, server.Addr, fence.Repeatable)
			must(foreign.Expire(t.Context(), c, key, "kept", 60))
			must(foreign.Modify(t.Context(), c, key, func(old string) (string, error) { return old + ": é", nil }))
			if got := rdb.Get(t.Context(), key).Val(); got != "kept: é" {
				t.Errorf("%s: %q", name, got)
			}
			if ttl := rdb.TTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Minute {
				t.Errorf("%s: expires in %v", name, ttl)
			}
			must(foreign.HSet(t.Context(), c, hash, map[string]string{"by": name}))
			must(foreign.Delete(t.Context(), c, key))
			must(foreign.Raise(t.Context(), c))
			if got := rdb.HGet(t.Context(), hash, "by").Val(); got != name || rdb.Exists(t.Context(), key).Val() != 0 {
				t.Errorf("%s: the hash has %q, or the key is there", name, got)
			}
			if got := rdb.Get(t.Context(), guard.MarkKey(c.Resource)).Val(); got != c.Token.String() {
				t.Errorf("%s: the mark is %q", name, got)
			}
		}
	}
	if got := cached(t, rdb); got != scripts {
		t.Errorf("the server keeps %s scripts, and %s by Go alone: they differ", got, scripts)
	}
}

// cached returns how many scripts the server keeps.
func cached(tb testing.TB, rdb *redis.Client) string {
	tb.Helper()
	info, err := rdb.Info(tb.Context(), "memory").Result()
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "number_of_cached_scripts:")
	count, _, _ := strings.Cut(rest, "\r")
	return count
}
