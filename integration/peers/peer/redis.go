package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/holdfast-io/holdfast/integration/peers/process"
)

// The scripts of the lock, as they are usually written, with a counter for tokens. KEYS: the lock, its counter. ARGV:
// the owner; the duration of the lease in milliseconds, or the channel for a notice that the lock is free.
var (
	lockScript = rueidis.NewLuaScript(`
		if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
			return redis.call('INCR', KEYS[2])
		end
		return 0`)
	extendScript = rueidis.NewLuaScript(`
		if redis.call('GET', KEYS[1]) == ARGV[1] then
			return redis.call('PEXPIRE', KEYS[1], ARGV[2])
		end
		return 0`)
	unlockScript = rueidis.NewLuaScript(`
		if redis.call('GET', KEYS[1]) ~= ARGV[1] then
			return 0
		end
		redis.call('DEL', KEYS[1])
		if ARGV[2] ~= '' then
			redis.call('PUBLISH', ARGV[2], KEYS[1])
		end
		return 1`)
)

// freeChannel is where a released lock is announced to waiting sessions.
const freeChannel = "free"

// errHeld: another session holds the lock.
var errHeld = errors.New("held")

// StartRedis starts a Redis server that syncs each write before it answers. It has one node; the others of the
// environment are ignored.
func StartRedis(ctx context.Context, env Environment) (*Deployment, error) {
	d := &Deployment{network: env.Network}
	if _, err := exec.LookPath(env.Programs.Redis); err != nil {
		return d, fmt.Errorf("%w; install it with: make servers", err)
	}
	version, err := process.Version(ctx, env.Programs.Redis, "--version")
	if err != nil {
		return d, err
	}
	d.Version = version
	dir := filepath.Join(env.Dir, "redis")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return d, err
	}
	addresses, err := env.addresses(1)
	if err != nil {
		return d, err
	}
	address := addresses[0]
	host, port, _ := net.SplitHostPort(address)
	if _, err := d.start("redis-server", env.Programs.Redis,
		[]string{"--port", port, "--bind", host, "--protected-mode", "no", "--dir", dir,
			"--save", "", "--appendonly", "yes", "--appendfsync", "always"}); err != nil {
		return d, err
	}
	if err := d.reachable(ctx, addresses); err != nil {
		return d, err
	}
	if err := addRedis(ctx, d, "redis", address, env.Connections, true); err != nil {
		return d, err
	}
	return d, addRedis(ctx, d, "redis-rueidis", address, env.Connections, false)
}

// addRedis adds a peer. With separate requests each session in progress has a connection of its own, from a pool, as
// with most clients of Redis; else those that share a connection pipeline their requests.
func addRedis(ctx context.Context, d *Deployment, name, address string, connections int, separate bool) error {
	var clients []*redisClient
	for range connections {
		c, err := newRedisClient(ctx, d, address, separate)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	d.add(name, Workloads, func(_ context.Context, n int) (Session, error) {
		return &redisSession{redisClient: clients[n%len(clients)], owner: name + strconv.Itoa(n)}, nil
	})
	return nil
}

// redisClient is a client with the bell of its sessions, which the announcements of released locks ring.
type redisClient struct {
	rueidis.Client
	*bell
}

func newRedisClient(ctx context.Context, d *Deployment, address string, separate bool) (*redisClient, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, ForceSingleClient: true, DisableCache: true,
		PipelineMultiplex: -1, DisableAutoPipelining: separate,
	})
	if err != nil {
		return nil, err
	}
	c := &redisClient{client, newBell()}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done, subscribed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = client.Receive(rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) {
			select {
			case <-subscribed:
			default:
				close(subscribed)
			}
		}), client.B().Subscribe().Channel(freeChannel).Build(), func(m rueidis.PubSubMessage) { c.ring(m.Message) })
	}()
	d.closers = append(d.closers, func() {
		stop()
		<-done
		client.Close()
	})
	select {
	case <-subscribed:
		return c, nil
	case <-done:
		return nil, errors.New("cannot subscribe at Redis")
	}
}

// redisSession is one client of Redis.
type redisSession struct {
	*redisClient
	owner, resource string
	channel         string
}

// Lock implements [Session].
func (s *redisSession) Lock(ctx context.Context, resource string, wait bool) (token uint64, err error) {
	s.resource, s.channel = resource, ""
	if !wait {
		if token, err = s.take(ctx); err == nil && token == 0 {
			err = errHeld
		}
		return token, err
	}
	s.channel = freeChannel
	err = s.await(ctx, resource, func() (bool, error) {
		token, err = s.take(ctx)
		return token > 0, err
	})
	return token, err
}

// take returns 0 if another session holds the lock.
func (s *redisSession) take(ctx context.Context) (token uint64, err error) {
	return s.run(ctx, lockScript, []string{s.resource, "token:" + s.resource},
		strconv.FormatInt(ttl.Milliseconds(), 10))
}

// Extend implements [Session].
func (s *redisSession) Extend(ctx context.Context) error {
	return held(s.run(ctx, extendScript, []string{s.resource}, strconv.FormatInt(ttl.Milliseconds(), 10)))
}

// Unlock implements [Session].
func (s *redisSession) Unlock(ctx context.Context) error {
	return held(s.run(ctx, unlockScript, []string{s.resource}, s.channel))
}

func (s *redisSession) run(ctx context.Context, script *rueidis.Lua, keys []string, arg string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return script.Exec(ctx, s.Client, keys, []string{s.owner, arg}).AsUint64()
}

// held turns a script's answer that the lock is not held into an error.
func held(done uint64, err error) error {
	if err == nil && done == 0 {
		return errNotHeld
	}
	return err
}
