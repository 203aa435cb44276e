package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// tokens are those that the journals of a deployment have issued.
type tokens struct {
	// highest is that of each resource.
	highest map[string]messages.Token
	// issued is how many there were, as --ahead of a restore counts them: a reservation for ephemeral leases is 1 000, and
	// what the load asks for at once.
	issued uint64
}

// reservation is how many tokens a reservation may take: a client of the load asks for 20 at once.
const reservation = 1000 + 20

// note notes what a record issues.
func (t *tokens) note(r *journal.Record) {
	for _, change := range r.GetCommit().GetChanges() {
		g, resource := change.GetGrant(), change.Name()
		switch before := t.highest[resource]; {
		case g == nil && messages.Token(change.GetReserved()) > before:
			t.highest[resource] = messages.Token(change.GetReserved())
			t.issued += reservation
		case g != nil && g.Last() > before:
			t.highest[resource] = g.Last()
			if t.issued += uint64(max(g.GetTokens(), 1)); change.GetKind() != messages.Event_ACQUIRED { // it has grown
				t.issued += uint64(g.Last()-before) - uint64(max(g.GetTokens(), 1))
			}
		}
	}
}

// copied is a backup that was made under load.
type copied struct {
	file []byte
	// issued is how many tokens there were before it began.
	issued uint64
}

// copying makes a backup of the deployment at a time that the seed draws, in some trials. It has none if the copy fails,
// which it may while something is wrong.
func (w *world) copying() <-chan copied {
	made := make(chan copied, 1)
	dice := rand.New(rand.NewPCG(w.trial.Seed, 3))
	if dice.IntN(8) > 0 && w.trial.Tuning.Remember == 0 {
		close(made)
		return made
	}
	at := time.Duration(dice.Int64N(int64(w.trial.Length / 2))) // further load, and forgetting, come behind it
	go func() {
		defer close(made)
		pass(at)
		if w.trial.spends() {
			w.spend(uint32(dice.IntN(int(w.Shards))))
		}
		var c copied
		w.do(func() { c.issued = w.issued.issued })
		var file []byte
		err := w.underRareLocks(func() (err error) {
			file, err = w.copy()
			return err
		})
		if err != nil {
			w.Log.Warn("the backup has failed", "err", err)
			return
		}
		c.file = file
		made <- c
	}()
	return made
}

// spent is how many tokens of a resource are used up before a backup: more than are issued behind it, so that no --ahead
// that counts them reaches as far.
const spent = 100_000

// spends reports whether a backup has tokens that are far above those of other names. An ephemeral grant counts as so
// many that they would not be.
func (x *Trial) spends() bool { return x.Tuning.Remember > 0 && x.Ephemeral == 0 }

// spend uses up tokens of a resource of the shard, which is then left to be forgotten. What fails is left out.
func (w *world) spend(shard uint32) {
	nc, err := w.connect("spender", 0, w.login())
	if err != nil {
		return
	}
	defer nc.Close()
	name := w.namesIn(shard, "spent.", 1)[0] // its key, too
	for _, r := range []struct {
		op      messages.Operation
		request proto.Message
	}{
		{messages.OpAcquire, &messages.AcquireRequest{Owner: "spender", TtlMs: 1000, Tokens: spent}},
		{messages.OpRelease, &messages.ReleaseRequest{Owner: "spender"}},
	} {
		_, _ = nc.Request(messages.DefaultPrefix.Operation(r.op, name), request.Encode(r.request), 5*time.Second)
	}
}

// underRareLocks does something while a lock in each shard is held that nobody else uses, as far as there is room for it.
func (w *world) underRareLocks(do func() error) error {
	nc, err := w.connect("rare", 0, w.login())
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc, holdfast.Timeout(5*time.Second))
	if err != nil {
		return err
	}
	for shard := range w.Shards {
		ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
		if _, err := client.Acquire(ctx, w.namesIn(shard, "rare.", 1)[0]); err != nil {
			w.Log.Debug("a lock is not acquired", "err", err)
		}
		cancel()
	}
	err = do()
	ctx, cancel := context.WithTimeout(w.ctx, settling)
	defer cancel()
	return errors.Join(err, client.Close(ctx))
}

func (w *world) copy() ([]byte, error) {
	nc, err := w.connect("backup", 0, w.login())
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(w.ctx, settling)
	defer cancel()
	d, err := jetstream.OpenDeployment(ctx, nc, jetstream.DeploymentConfig{
		Prefix: messages.DefaultPrefix, Existing: true, Log: w.Log,
	})
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	h := &archive.Header{Prefix: string(messages.DefaultPrefix), Shards: d.Shards(), AtMs: time.Now().UnixMilli()}
	_, err = backup.Copy(ctx, &file, h, func(shard uint32) backup.Source { return d.Bucket(shard) }, func(float64) {})
	return file.Bytes(), err
}

// restore puts a backup in the place of the deployment, whose nodes have stopped, with the smallest --ahead that the
// manual allows, and checks that no token of any resource comes again.
func (w *world) restore(c copied) error {
	dice := rand.New(rand.NewPCG(w.trial.Seed, 4))
	nc, err := w.connect("restore", 0, w.login())
	if err != nil {
		return err
	}
	defer nc.Close()
	w.do(func() {
		w.Network.Stored = nil // what is stored from here on is of another deployment
		w.Network.Clear()
	})
	after := &Deployment{
		Network: w.Network, Servers: w.Servers, Shards: uint32(1 + dice.IntN(4)), Replicas: w.Replicas, Log: w.Log,
		Clock: w.Clock, Tenants: w.Tenants,
	}
	if err := after.fill(w.ctx, nc, c.file, w.issued.issued-c.issued); err != nil {
		return err
	}
	if err := after.StartNode(w.ctx, 0); err != nil {
		return err
	}
	defer after.KillNode(0)
	clients := make(map[string]*holdfast.Client)
	defer func() {
		for _, client := range clients {
			_ = client.Close(w.ctx)
		}
	}()
	for _, tenant := range append([]string{""}, slices.Sorted(maps.Keys(w.Tenants))...) {
		options := []holdfast.Option{holdfast.Timeout(10 * time.Second)}
		if tenant != "" {
			options = append(options, holdfast.Tenant(tenant))
		}
		client, err := holdfast.New(nc, options...)
		if err != nil {
			return err
		}
		clients[tenant] = client
	}
	for _, resource := range slices.Sorted(maps.Keys(w.issued.highest)) {
		highest := w.issued.highest[resource]
		tenant, name := messages.Unqualify(resource)
		l, err := acquireAfterAll(w.ctx, clients[tenant], name)
		if err != nil {
			return fmt.Errorf("%s: %w", resource, err)
		}
		if l.Token() <= highest {
			return fmt.Errorf("%s has token %d, and was granted under token %d after its backup", resource, l.Token(),
				highest)
		}
		if err := l.Release(w.ctx); err != nil {
			return err
		}
	}
	w.records["restored"]++
	return nil
}

// acquireAfterAll acquires a resource when its leases have ended, and confirms the losses that hold it back.
func acquireAfterAll(ctx context.Context, client *holdfast.Client, resource string) (*holdfast.Lock, error) {
	for {
		l, err := client.Acquire(ctx, resource, holdfast.MaxWait(time.Minute))
		if err == nil {
			return l, nil
		}
		state, failed := client.Get(ctx, resource)
		if failed != nil || state.Lost == nil {
			return nil, errors.Join(err, failed)
		}
		if err := client.Confirm(ctx, resource, state.Lost.Token, "the simulation", "it is over"); err != nil {
			return nil, err
		}
	}
}

// fill restores a backup into the deployment, which is empty.
func (d *Deployment) fill(ctx context.Context, nc *nats.Conn, file []byte, ahead uint64) error {
	contents, err := backup.Inspect(bytes.NewReader(file), int64(len(file)), func(float64) {})
	if err != nil {
		return err
	}
	r := backup.Restore{
		File: bytes.NewReader(file), Contents: contents, Ahead: ahead, Shards: d.Shards, AtMs: time.Now().UnixMilli(),
		Progress: func(float64) {},
	}
	into, err := jetstream.BeginRestore(ctx, nc, jetstream.DeploymentConfig{
		Prefix: messages.DefaultPrefix, Shards: d.Shards, Replicas: d.Replicas, Log: d.Log,
	}, r.After())
	if err != nil {
		return err
	}
	r.Target = func(shard uint32) backup.Target { return into.Bucket(shard) }
	if err := r.Run(ctx); err != nil {
		return err
	}
	return into.Finish(ctx)
}
