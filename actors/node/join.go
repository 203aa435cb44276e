package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// leaveLimit bounds how long a node that leaves looks after its shards and those who wait for them.
	leaveLimit = 5 * time.Second
	// lingerFor is how long a node that has left still sends on what comes to it, because those who sent
	// that have yet to hear of it.
	lingerFor = 100 * time.Millisecond
)

// join lets the node take part among the others, and returns when it does.
func (n *Node) join(ctx context.Context) error {
	base := &peer.Announcement{
		Node: n.cfg.Name, Incarnation: rand.Uint64() | 1, Version: n.cfg.Version, Shards: n.cfg.Shards, Limits: n.cfg.Limits,
	}
	n.peers = newPeers(n.cfg.Peers, n.cfg.Prefix, base.GetIncarnation(), n.cfg.Log, n.unsent)
	w := newWarden(base, n.posts, surroundings{
		clock: n.cfg.Clock, log: n.cfg.Log, first: n.cfg.First, leads: n.cfg.Leads, cede: n.cfg.Cede,
		start: n.startShard, retired: n.past.add, door: n.direct, announce: n.peers.announce,
	})
	if err := n.peers.listen(ctx, w.hear, n.forwarded, n.inquiry); err != nil {
		return fmt.Errorf("join the other nodes: %w", err)
	}
	n.warden = w
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.stopWarden = cancel
	go func() {
		w.run(lasting)
		if w.failed != nil {
			n.cfg.Log.Error("this node must not stay", "error", w.failed)
			n.lose()
		}
	}()
	select {
	case <-w.joined:
		return n.openedFirst(ctx)
	case <-w.over:
		return w.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *Node) startShard(shard uint32, changed func()) *actors.Shard {
	cfg := n.shardConfig(shard)
	cfg.Yields, cfg.Changed = true, changed
	cfg.Pass = func(r *actors.Request) { n.pass(shard, r) }
	return n.system.StartShard(cfg)
}

// pass takes back what a shard has not decided, for whoever owns it next.
func (n *Node) pass(shard uint32, r *actors.Request) {
	switch l, ok, err := letterOf(r); {
	case err != nil:
		n.cfg.Log.Error("a request is lost on the way to the shard's next owner", "shard", shard, "error", err)
	case ok:
		n.posts[shard].pass(l)
	}
}

// openedFirst waits until the shards with which the node begins have been tried.
func (n *Node) openedFirst(ctx context.Context) error {
	for _, s := range n.warden.begun {
		if err := s.Opened(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// leave hands the node's shards over to the others, and those who wait for them.
func (n *Node) leave(ctx context.Context) {
	w := n.warden
	if w == nil {
		return
	}
	defer n.stopWarden()
	select {
	case <-w.over:
		return
	default:
	}
	limited, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	close(w.depart)
	select {
	case <-w.over:
		n.linger(ctx)
	case <-limited.Done():
		n.stopWarden()
		<-w.over
	}
}

// linger sends on what others have yet to stop sending.
func (n *Node) linger(ctx context.Context) {
	if len(*n.warden.nodes.Load()) < 2 {
		return
	}
	select {
	case <-time.After(lingerFor):
	case <-ctx.Done():
	}
}
