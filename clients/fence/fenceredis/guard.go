package fenceredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// Do sends one command to the server and returns its reply as the driver has it: a bulk string as
// string or []byte, an array as []any. An error reply is an error whose text begins as the server's
// does. All args are strings. It is called concurrently.
type Do func(ctx context.Context, args ...any) (any, error)

// Guard writes keys for the holder of the lock on them. It may be used concurrently. After [fence.ErrStale],
// [fence.ErrInvalid] and [fence.ErrMalformed] nothing was written. Any other error of its methods is
// [fence.ErrUnknown]: the write may have been made. A call ends its tries after 30 seconds.
type Guard struct {
	do     Do
	rule   fence.Rule
	prefix string
	// observer receives each claim that was checked; nil: there is no observer.
	observer fence.Observer
}

var _ fence.Marks = (*Guard)(nil)

// Option changes how keys are guarded.
type Option func(*Guard)

// WithRule sets the rule; the default is [fence.Repeatable].
func WithRule(r fence.Rule) Option {
	return func(g *Guard) { g.rule = r }
}

// WithPrefix sets the prefix of the keys of high-water marks; the default is [DefaultPrefix]. All writers of
// a key use the same prefix.
func WithPrefix(prefix string) Option {
	return func(g *Guard) { g.prefix = prefix }
}

// WithObserver sets the observer, which receives each claim that the guard has checked.
func WithObserver(o fence.Observer) Option {
	return func(g *Guard) { g.observer = o }
}

// New returns a guard of the server that do reaches. The error is [fence.ErrInvalid] if an argument breaks a
// rule; nothing is sent.
func New(do Do, opts ...Option) (*Guard, error) {
	g := &Guard{do: do, prefix: DefaultPrefix}
	for _, o := range opts {
		o(g)
	}
	if err := g.rule.Validate(); err != nil {
		return nil, err
	}
	switch {
	case do == nil:
		return nil, messages.Invalid("do", "a function of a driver", "nil")
	case g.prefix == "" || strings.ContainsAny(g.prefix, "{}"):
		return nil, messages.Invalid("prefix", "not empty, and without { and }, which choose a slot",
			strconv.Quote(g.prefix))
	}
	return g, nil
}

var (
	set  = NewScript(`return redis.call('SET', KEYS[1], unpack(ARGV))`)
	hset = NewScript(`for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end`)
	del  = NewScript(`for _, key in ipairs(KEYS) do redis.call('DEL', key) end`)
	none = NewScript(``)
	// modify gets the new value, and the one that was read, if there was one.
	modify = newScript(`return redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')`,
		`return (redis.call('GET', KEYS[1]) or nil) ~= ARGV[2]`)
)

// Set makes value the value of key, whatever it was before, and lets it expire after ttl, in whole
// milliseconds; never if ttl is 0. The mark does not expire.
func (g *Guard) Set(ctx context.Context, c fence.Claim, key, value string, ttl time.Duration) error {
	args := []string{value}
	if ttl != 0 {
		if ttl < time.Millisecond {
			return messages.Invalid("ttl", "0 or at least 1ms", ttl.String())
		}
		args = append(args, "PX", strconv.FormatInt(ttl.Milliseconds(), 10))
	}
	_, err := g.Run(ctx, c, set, []string{key}, args...)
	return err
}

// HSet sets fields of the hash at key; other fields stay as they are. It is the server's error
// WRONGTYPE, with the mark raised, if something else is stored there.
func (g *Guard) HSet(ctx context.Context, c fence.Claim, key string, fields map[string]string) error {
	if len(fields) == 0 {
		return messages.Invalid("fields", "at least one", "")
	}
	args := make([]string, 0, 2*len(fields))
	for field, value := range fields {
		args = append(args, field, value)
	}
	_, err := g.Run(ctx, c, hset, []string{key}, args...)
	return err
}

// Del deletes keys; a missing key is no error. The mark stays.
func (g *Guard) Del(ctx context.Context, c fence.Claim, keys ...string) error {
	if len(keys) == 0 {
		return messages.Invalid("keys", "at least one", "")
	}
	_, err := g.Run(ctx, c, del, keys)
	return err
}

// Modify makes the value of key what f makes of the string that is there, which is nil if there is none, on the
// condition that it is unchanged since. Otherwise it reads again and calls f again, until ctx ends, so no other change
// is lost. The key keeps its expiry. If f fails, nothing is written, and the error is that of f. A change that Lua can
// make is one script instead: see [Guard.Run].
func (g *Guard) Modify(ctx context.Context, c fence.Claim, key string, f func(old []byte) ([]byte, error)) error {
	for {
		old, err := g.get(ctx, key)
		if err != nil {
			return fmt.Errorf("resource %q: reading key %q: %w", c.Resource, key, err)
		}
		value, err := f(old)
		if err != nil {
			return err
		}
		args := []string{string(value)}
		if old != nil {
			args = append(args, string(old))
		}
		if _, err = g.Run(ctx, c, modify, []string{key}, args...); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// get returns the string at key, nil if there is none. It is a script, which drivers send to no replica.
func (g *Guard) get(ctx context.Context, key string) ([]byte, error) {
	reply, err := g.do(ctx, "EVAL", "return {redis.call('GET', KEYS[1])}", "1", key)
	if err != nil {
		return nil, err
	}
	values, ok := reply.([]any)
	switch {
	case !ok || len(values) != 1:
		return nil, fmt.Errorf("the reply is not the script's, or Do changed it: %T", reply)
	case values[0] == nil:
		return nil, nil
	}
	return []byte(text(values[0])), nil
}

// Raise raises the mark and writes nothing else; see [fence.Marks].
func (g *Guard) Raise(ctx context.Context, c fence.Claim) error {
	_, err := g.Run(ctx, c, none, nil)
	return err
}

// Run runs a script of the caller's own behind the check, and returns its result as Do does. In the
// script, KEYS and ARGV are keys and args. If it stops with an error, the mark stays raised and what
// it had written stays written.
func (g *Guard) Run(ctx context.Context, c fence.Claim, s *Script, keys []string, args ...string) (_ any, err error) {
	defer g.observer.Conclude("fenceredis", c, &err)
	if err := cmp.Or(c.Check(), g.checkKeys(keys)); err != nil {
		return nil, err
	}
	keys = append(slices.Clip(keys), g.MarkKey(c.Resource), g.newWrite(c.Resource))
	ctx, cancel := context.WithTimeout(ctx, maxTrying)
	defer cancel()
	begun := time.Now()
	reply, err := s.send(ctx, g.do, s.arguments(keys, args, c.Token, g.rule))
	switch {
	case err != nil:
		return nil, g.failed(c, err)
	case elapsed(begun) >= remembered:
		// the server may have given it without knowing of an earlier try
		return nil, g.unknown(c, fmt.Errorf("the reply came after more than %v; let the driver try for less",
			remembered))
	}
	return g.result(c, reply)
}

// maxTrying ends a driver's tries while the server still knows the first one.
const maxTrying = remembered / 2

// elapsed asks both clocks: the monotonic one stands still while a machine sleeps.
func elapsed(since time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

func (g *Guard) checkKeys(keys []string) error {
	for _, key := range keys {
		if strings.HasPrefix(key, g.prefix) {
			return messages.Invalid("key", "does not begin with "+strconv.Quote(g.prefix)+", where the marks are",
				strconv.Quote(key))
		}
	}
	return nil
}
