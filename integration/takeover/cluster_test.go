package takeover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/natsconn"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// cluster is three NATS servers, and an observer's connection to them.
type cluster struct {
	*testing.T
	servers []*server
	js      natsjs.JetStream
}

func mustCluster(t *testing.T) *cluster {
	t.Helper()
	addresses := porttest.Free(t, 6)
	clients, routes := addresses[:3], addresses[3:]
	c := &cluster{T: t}
	for i, route := range routes {
		s := newServer(t, fmt.Sprintf("n%d", i), clients[i], route, routes)
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		c.servers = append(c.servers, s)
	}
	js, err := natsjs.New(c.mustConnect("observer"))
	if err != nil {
		t.Fatal(err)
	}
	c.js = js
	return c
}

// mustConnect returns a connection to whichever server is up, which ends with the test.
func (c *cluster) mustConnect(name string) *nats.Conn {
	c.Helper()
	var urls []string
	for _, s := range c.servers {
		urls = append(urls, s.url())
	}
	nc, err := natsconn.Dial(natsconn.Config{
		URL: strings.Join(urls, ","), Name: name, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(nc.Close)
	return nc
}

func streamOf(prefix messages.Prefix, shard uint32) string { return "KV_" + prefix.Bucket(shard) }

// askTimeout bounds one question to a cluster in which something is always missing.
const askTimeout = 2 * time.Second

// stepDown lets the leader of a bucket resign, and reports whether it did.
func (c *cluster) stepDown(ctx context.Context, stream string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := c.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
	if err != nil {
		return false
	}
	var result struct{ Success bool }
	return json.Unmarshal(answer.Data, &result) == nil && result.Success
}

// whole reports whether the bucket has a leader and every replica of it is up to date.
func (c *cluster) whole(ctx context.Context, stream string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return false
	}
	group := s.CachedInfo().Cluster
	if group == nil || group.Leader == "" || len(group.Replicas) != len(c.servers)-1 {
		return false
	}
	for _, r := range group.Replicas {
		if !r.Current || r.Offline {
			return false
		}
	}
	return true
}

// waitWhole waits until every bucket is whole, so that one server more can be done without.
func (c *cluster) waitWhole(ctx context.Context, prefix messages.Prefix) {
	for shard := uint32(0); shard < shards && ctx.Err() == nil; {
		if c.whole(ctx, streamOf(prefix, shard)) {
			shard++
		} else {
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// drop removes the buckets of a round that is over.
func (c *cluster) drop(prefix messages.Prefix) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	for shard := range uint32(shards) {
		for ctx.Err() == nil && c.js.DeleteStream(ctx, streamOf(prefix, shard)) != nil {
			pause(ctx, 50*time.Millisecond)
		}
	}
}
