package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	holdfastjs "github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// guarded is a folder that checks tokens, and outlives the deployment.
type guarded struct {
	t   *testing.T
	dir *fencefile.Dir
	// highest are the highest tokens that were issued.
	highest map[string]holdfast.Token
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	dir := stand.Value(fencefile.Open(t.TempDir()))(t)
	t.Cleanup(func() { _ = dir.Close() })
	return &guarded{t: t, dir: dir, highest: map[string]holdfast.Token{}}
}

// write writes under the claim.
func (g *guarded) write(c fence.Claim) {
	g.t.Helper()
	err := g.dir.Do(g.t.Context(), c, func(root *os.Root) error {
		return root.WriteFile(c.Resource, []byte("x"), 0o600)
	})
	if err != nil {
		g.t.Errorf("a write under token %v of %q is refused: %v", c.Token, c.Resource, err)
	}
}

// use acquires the resource, writes under its token, which must be new, and releases it.
func (g *guarded) use(c *holdfast.Client, resource string, opts ...holdfast.AcquireOption) {
	g.t.Helper()
	g.release(g.acquire(c, resource, opts...))
}

// acquire acquires the resource, and checks that its token is new.
func (g *guarded) acquire(c *holdfast.Client, resource string, opts ...holdfast.AcquireOption) *holdfast.Lock {
	g.t.Helper()
	l, err := c.Acquire(g.t.Context(), resource, opts...)
	if err != nil {
		g.t.Fatal(err)
	}
	if l.Token() <= g.highest[resource] {
		g.t.Errorf("token %v of %q after token %v", l.Token(), resource, g.highest[resource])
	}
	g.highest[resource] = l.Token()
	g.write(l.Claim())
	return l
}

// release writes under the lock, and releases it.
func (g *guarded) release(l *holdfast.Lock) {
	g.t.Helper()
	g.write(l.Claim())
	if err := l.Release(g.t.Context()); err != nil {
		g.t.Error(err)
	}
}

func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
}

// A backup is restored into as many shards or others. What was held is held under its token, and can be extended and
// released. No token is issued twice, though much was granted after the backup: the guard accepts all that follows. A
// watch does not take the restored journals for those that it knew.
func TestRestore(t *testing.T) {
	t.Parallel()
	for shards, back := range map[string][]string{"SameShards": nil, "MoreShards": {"--shards", "5"},
		"OneShard": {"--shards", "1"}} {
		t.Run(shards, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "locks.backup")
			g := newGuarded(t)
			p := serve(t, "--shards", "2")
			client := stand.Client(t, stand.Dial(t, p.url))
			p.holdfast(t, "acquire", "held", "--owner", "me", "--ttl", "10m", "--metadata", "job=nightly").want(t, 0,
				"token 1")
			p.holdfast(t, "acquire", "shared", "--shared", "--owner", "r1", "--ttl", "10m").want(t, 0, "token 1, ")
			p.holdfast(t, "acquire", "shared", "--shared", "--owner", "r2", "--ttl", "10m").want(t, 0,
				"token 2, fence 1")
			p.holdfast(t, "acquire", "lost", "--owner", "me", "--ttl", "100ms", "--confirm").want(t, 0, "token 1")
			p.waitHeldBack(t, "lost")
			var lock *holdfast.Lock
			if back == nil { // a client has to know the number of shards
				lock = g.acquire(client, "locked", holdfast.TTL(10*time.Minute)) // with a secret
			}
			g.write(fence.Claim{Resource: "held", Token: 1})
			for range 3 {
				g.use(client, "used")
				g.use(client, "ephemeral", holdfast.Ephemeral())
			}

			p.holdfast(t, "backup", file).want(t, 0,
				`^".*" has 2 shards of "holdfast": [34] leases held, 1 ended lease whose resources are held back, the tokens of 2 resources that are free$`)

			for range 3 { // what the backup does not know
				g.use(client, "used")
				g.use(client, "later")
				g.use(client, "ephemeral", holdfast.Ephemeral())
			}
			changes := strings.Split(strings.TrimSpace(p.holdfast(t, "history", "later", "--json").stdout), "\n")
			position := readLine(t, changes[len(changes)-1]).Position
			p.stop(t)

			dir := filepath.Join(t.TempDir(), "data")
			run(t, append([]string{"restore", file, "--data", dir}, back...)...).
				wantBoth(t, 0,
					`(?s)^restored the backup of .*: 2 shards of "holdfast": [34] leases held.*\nNew tokens begin 1000000000000 above .*holdfast serve --data `, `^$`)
			again := again(t, p, dir)
			again.holdfast(t, "get", "held").want(t, 0,
				`^held: held by "me", token 1, (10m|9m\S+) left, job="nightly"$`)
			again.holdfast(t, "acquire", "held", "--owner", "you").want(t, 3, `^held: `)
			again.holdfast(t, "extend", "held", "--owner", "me", "--ttl", "1m").want(t, 0, `token 1, lease 1m`)
			g.write(fence.Claim{Resource: "held", Token: 1})
			again.holdfast(t, "release", "held", "--owner", "me").want(t, 0, `^released`)
			again.holdfast(t, "extend", "shared", "--owner", "r1", "--ttl", "1m").want(t, 0, `token 1, `)
			again.holdfast(t, "release", "shared", "--owner", "r2").want(t, 0, `^released`)
			again.holdfast(t, "get", "lost").want(t, 0, `^held back: `)
			again.holdfast(t, "confirm", "lost", "--token", "1").want(t, 0, `^confirmed`)

			if lock == nil {
				client = stand.Client(t, stand.Dial(t, again.url))
			} else {
				again.holdfast(t, "watch", "later", "--position", position).want(t, 1,
					`the journal of shard \d now begins at .*, and earlier changes are lost to this watch`)
				if err := lock.Extend(t.Context(), time.Minute); err != nil {
					t.Error(err)
				}
				g.release(lock)
				g.use(client, "locked")
			}
			g.highest["held"], g.highest["lost"] = 1, 1
			for _, resource := range []string{"held", "lost", "used", "later", "ephemeral", "never used"} {
				g.use(client, resource)
				g.use(client, resource)
			}
		})
	}
}

// Backups of a node under load, which compacts all the time: each is whole, and the locks that were held during a
// backup are in it.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	tuning := actors.DefaultTuning()
	tuning.CompactCommits, tuning.History = 20, 1
	s := stand.Start(t, stand.Config{Tuning: tuning})
	client := s.Client()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var load sync.WaitGroup
	highest, grants := map[string]holdfast.Token{}, 0
	for i := range 4 {
		resource := fmt.Sprint("load.", i)
		load.Go(func() {
			for ctx.Err() == nil {
				l, err := client.Acquire(t.Context(), resource)
				if err == nil {
					mu.Lock()
					highest[resource], grants = l.Token(), grants+1
					mu.Unlock()
					err = l.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return grants
	}
	dir := t.TempDir()
	for i := range 3 {
		kept := run(t, "acquire", fmt.Sprint("kept.", i), "--owner", "me", "--ttl", "10m", "--server", s.URL())
		kept.want(t, 0, "token 1")
		before := count()
		stand.Eventually(t, "the load has compacted", func() bool { return count() > before+100 })
		run(t, "backup", filepath.Join(dir, fmt.Sprint(i)), "--server", s.URL()).want(t, 0, ` \d+ leases? held`)
	}
	cancel()
	load.Wait()
	t.Logf("%d grants", grants)
	for i := range 3 {
		data := filepath.Join(dir, fmt.Sprint("data", i))
		run(t, "restore", filepath.Join(dir, fmt.Sprint(i)), "--data", data).wantBoth(t, 0, `^restored`, `^$`)
		restored := stand.Start(t, stand.Config{DataDir: data})
		c := restored.Client()
		for k := range i + 1 {
			state, err := c.Get(t.Context(), fmt.Sprint("kept.", k))
			if err != nil || !state.Held || state.Token != 1 {
				t.Errorf("backup %d, lock %d: %+v, %v", i, k, state, err)
			}
		}
		for resource, token := range highest {
			state, err := c.Get(t.Context(), resource)
			if err == nil && state.Held { // the load held it during the backup
				err = c.Break(t.Context(), resource, state.Token, "its holder is gone")
			}
			if err != nil {
				t.Fatal(err)
			}
			l, err := c.Acquire(t.Context(), resource)
			if err != nil || l.Token() <= token {
				t.Fatalf("backup %d, %s: %v after token %v, error %v", i, resource, l, token, err)
			}
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		restored.Stop()
	}
}

// backupOf returns a backup of a node that holds one lock. args are flags of the node and of the commands.
func backupOf(t *testing.T, args ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "locks.backup")
	p := serve(t, args...)
	p.holdfast(t, append([]string{"acquire", "orders.42", "--owner", "me", "--ttl", "10m"}, args...)...).want(t, 0,
		"token 1")
	p.holdfast(t, append([]string{"backup", file}, args...)...).want(t, 0, "1 lease held")
	p.stop(t)
	return file
}

// A single node moves to three servers, each of which has all locks.
func TestRestoreReplicas(t *testing.T) {
	t.Parallel()
	file := backupOf(t)
	routes := porttest.Free(t, 3)
	var servers []*stand.NATS
	for i, route := range routes {
		servers = append(servers, stand.StartNATS(t,
			embedded.Config{Name: fmt.Sprint("n", i), ClusterListen: route, Routes: routes}))
	}
	for _, s := range servers {
		stand.Must(t, s.AwaitQuorum(t.Context()))
	}
	first := servers[0].ClientURL()
	run(t, "restore", file, "--server", first, "--replicas", "3", "--shards", "2").wantBoth(t, 0, `now in 2 shards\n`,
		`^$`)
	js := stand.Value(jetstream.New(servers[0].Connect(t)))(t)
	for shard := range uint32(2) {
		stream, err := js.Stream(t.Context(), "KV_"+messages.DefaultPrefix.Bucket(messages.Shard{Number: shard}))
		if err != nil || stream.CachedInfo().Config.Replicas != 3 {
			t.Errorf("shard %d: %v, error %v", shard, stream, err)
		}
	}
	p := serveWith(t, nil, "--server", first+","+servers[1].ClientURL())
	p.holdfast(t, "extend", "orders.42", "--owner", "me", "--ttl", "5m").want(t, 0, "token 1, lease 5m")
	p.holdfast(t, "acquire", "orders.43", "--owner", "me").want(t, 0, "token 1000000000002,")
}

// A single node becomes the first member of a cluster.
func TestRestoreMember(t *testing.T) {
	t.Parallel()
	file := backupOf(t, "--prefix", "my.locks")
	m := stand.NewMembers(t, 1, "--prefix", "my.locks").All[0]
	run(t, "restore", file, "--data", m.Data, "--name", m.Name, "--cluster-listen", porttest.Free(t, 1)[0]).
		wantBoth(t, 0, `--prefix my.locks\n$`, `^$`)
	m.Start()
	m.WaitReady()
	run(t, "get", "orders.42", "--server", m.URL, "--prefix", "my.locks").want(t, 0,
		`^held: orders.42 by "me", token 1, `)
}

// An unfinished restore is refused by nodes and by a backup, and is begun again.
func TestUnfinishedRestore(t *testing.T) {
	t.Parallel()
	file := backupOf(t)
	n := stand.StartNATS(t, embedded.Config{})
	stand.Value(holdfastjs.BeginRestore(t.Context(), n.Connect(t),
		holdfastjs.DeploymentConfig{Prefix: messages.DefaultPrefix, Shards: 7}, 3))(t)
	const unfinished = `the restore of the deployment is not finished: HOLDFAST_0 has only a part of its locks; let holdfast restore end, or start it again`
	run(t, "serve", "--server", n.ClientURL()).want(t, 1, unfinished)
	run(t, "backup", filepath.Join(t.TempDir(), "b"), "--server", n.ClientURL()).want(t, 1, unfinished)
	run(t, "restore", file, "--server", n.ClientURL()).wantBoth(t, 0, `^restored`, `^$`)
	p := serveWith(t, nil, "--server", n.ClientURL())
	p.holdfast(t, "get", "orders.42").want(t, 0, `^held: orders.42 by "me", token 1, `)

	// While a node runs, and when there is a deployment, nothing is restored.
	run(t, "restore", file, "--server", n.ClientURL()).want(t, 1,
		`a node of "holdfast" runs at .*; nothing was changed$`)
	p.stop(t)
	run(t, "restore", file, "--server", n.ClientURL()).want(t, 1,
		`the place of the deployment is not empty: there is the bucket HOLDFAST_0; .* nothing was changed$`)
	again := serveWith(t, nil, "--server", n.ClientURL())
	again.holdfast(t, "get", "orders.42").want(t, 0, `^held: orders.42 by "me", token 1, `)
}

// The permissions of the role are enough for a backup.
func TestPermissionsOfABackup(t *testing.T) {
	t.Parallel()
	rights := rightsOf(t, "backup")
	blind := strings.Replace(rights, "$JS.API.STREAM.INFO.KV_HOLDFAST_0", "x", 1)
	if blind == rights {
		t.Fatalf("the role has other permissions: %q", rights)
	}
	config := stand.NATSConfig(t, `
		authorization { users: [
			{ user: node, password: secret }
			{ user: backup, password: pass, permissions: { `+rights+` } }
			{ user: blind, password: pass, permissions: { `+blind+` } }
		] }`)
	p := serveWith(t, []string{"HOLDFAST_PASSWORD=secret"}, "--nats-config", config, "--user", "node", "--shards", "1")
	file := filepath.Join(t.TempDir(), "locks.backup")
	as := func(user string, args ...string) result {
		return runWith(t, []string{"NATS_USER=" + user, "NATS_PASSWORD=pass", "NATS_URL=" + p.url}, args...)
	}
	as("backup", "backup", file).want(t, 0, `1 shard of "holdfast": 0 leases held`)
	as("blind", "backup", file, "--force").want(t, 5, `the NATS user has no permission.*STREAM.INFO.KV_HOLDFAST_0`)
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, error %v", left, err)
	}
}
