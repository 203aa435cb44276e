package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// settle waits until every replica is current, each shard has one owner, each node has its share of them
// and, where that is possible, leads their buckets.
func (f *failover) settle() {
	f.Helper()
	err := errors.New("no node was asked")
	for deadline := time.Now().Add(settlePatience); err != nil; {
		if time.Now().After(deadline) {
			f.Fatalf("the cluster does not settle: %v", err)
		}
		<-time.After(100 * time.Millisecond)
		for _, url := range f.servers {
			if err = f.settled(url); err != nil {
				break
			}
		}
	}
}

func (f *failover) settled(url string) error {
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
	defer cancel()
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	leaders, err := leaders(ctx, nc)
	if err != nil {
		return err
	}
	owners, err := owners(ctx, nc)
	if err != nil {
		return err
	}
	for _, n := range f.nodes {
		if shards := sharesOf(owners, n.Name); len(shards) != failoverShards/len(f.nodes) {
			return fmt.Errorf("%s owns %v", n.Name, shards)
		}
		if f.leads && !slices.Contains(slices.Collect(maps.Values(leaders)), n.Name) {
			return fmt.Errorf("%s leads no bucket", n.Name)
		}
	}
	return nil
}

// leaders returns who leads each bucket; it is an error if a replica is not current.
func leaders(ctx context.Context, nc *nats.Conn) (map[string]string, error) {
	js, err := natsjs.New(nc)
	if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	list := js.ListStreams(ctx)
	for s := range list.Info() {
		if s.Cluster == nil || s.Cluster.Leader == "" || len(s.Cluster.Replicas) != 2 {
			return nil, fmt.Errorf("%s has no leader, or not all replicas", s.Config.Name)
		}
		for _, r := range s.Cluster.Replicas {
			if !r.Current || r.Offline {
				return nil, fmt.Errorf("%s is not current on %s", s.Config.Name, r.Name)
			}
		}
		all[s.Config.Name] = s.Cluster.Leader
	}
	return all, list.Err()
}

// owners returns who owns each shard, as any node says.
func owners(ctx context.Context, nc *nats.Conn) (owners [failoverShards]string, err error) {
	c, err := holdfast.New(nc)
	if err != nil {
		return owners, err
	}
	defer func() { _ = c.Close(ctx) }()
	info, err := c.Info(ctx)
	if err != nil {
		return owners, err
	}
	for _, n := range info.Nodes {
		for _, shard := range n.Shards {
			if owners[shard] != "" {
				return owners, fmt.Errorf("shard %d is owned by %s and %s", shard, owners[shard], n.Name)
			}
			owners[shard] = n.Name
		}
	}
	return owners, nil
}

func sharesOf(owners [failoverShards]string, name string) []int {
	var shards []int
	for shard, owner := range owners {
		if owner == name {
			shards = append(shards, shard)
		}
	}
	return shards
}

// owned returns the shards of a node.
func (f *failover) owned(name string) []int {
	f.Helper()
	nc, err := nats.Connect(f.servers[0])
	if err != nil {
		f.Fatal(err)
	}
	defer nc.Close()
	all, err := owners(f.Context(), nc)
	if err != nil {
		f.Fatal(err)
	}
	return slices.Clip(sharesOf(all, name))
}
