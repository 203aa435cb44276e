package node

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/ranking"
	"github.com/holdfast-io/holdfast/messages"
)

// rankAtOnce bounds how many shards one ranking asks at the same time.
const rankAtOnce = 8

// rank asks all shards for the tops of theirs, and merges them.
func (l *lister) rank(ctx context.Context, g *generation, ask actors.Listing) (*messages.ListReply, error) {
	var (
		next, asking = make(chan uint32), sync.WaitGroup{}
		merging      sync.Mutex
		reply        = &messages.ListReply{}
		failed       error
	)
	for range min(rankAtOnce, g.Count) {
		asking.Go(func() {
			for shard := range next {
				part, err := l.part(ctx, g, shard, ask)
				merging.Lock()
				failed = cmp.Or(failed, err)
				reply = merged(ask, reply, part) // mutant: PartOfARankingLeftOut
				merging.Unlock()
			}
		})
	}
	for shard := range g.Count {
		next <- shard
	}
	close(next)
	asking.Wait()
	if failed != nil {
		return nil, failed
	}
	return reply, nil
}

// ranked is an entry of a ranking, with what is shown beside it: by HOLD the lease and its queue, else the queue and its
// oldest lease. What is beside it may be nil.
type ranked struct {
	at    ranking.Place
	lease *messages.Lease
	queue *messages.Queue
}

// merged returns the top of the ranking that is asked for, of what was merged before and the part of another shard. A
// part of another node may be anything.
func merged(ask actors.Listing, before *messages.ListReply, part actors.Listed) *messages.ListReply {
	leases := slices.Concat(before.GetLeases(), part.Leases)
	queues := slices.Concat(before.GetQueues(), part.Queues)
	var all []ranked
	if ask.By == messages.Ranking_HOLD {
		all = besideLeases(leases, queues)
	} else {
		all = besideQueues(ask.By, leases, queues)
	}
	reply, size := &messages.ListReply{}, 0
	for _, x := range all[:min(len(all), ask.Limit)] {
		if size >= ask.Bytes {
			break
		}
		if x.lease != nil {
			reply.Leases = append(reply.Leases, x.lease)
			size += proto.Size(x.lease)
		}
		if x.queue != nil {
			reply.Queues = append(reply.Queues, x.queue)
			size += proto.Size(x.queue)
		}
	}
	return reply
}

// besideLeases sorts leases. The first one of a resource has the queue.
func besideLeases(leases []*messages.Lease, queues []*messages.Queue) []ranked {
	all, waiting := make([]ranked, 0, len(leases)), make(map[string]*messages.Queue, len(queues))
	for _, q := range queues {
		waiting[messages.Qualify(q.GetTenant(), q.GetResource())] = q
	}
	for _, l := range leases {
		all = append(all, ranked{at: ranking.OfLease(l), lease: l})
	}
	sortRanked(all)
	for i := range all {
		resource := messages.Qualify(all[i].lease.GetTenant(), all[i].lease.GetResource())
		all[i].queue = waiting[resource]
		delete(waiting, resource)
	}
	return all
}

// besideQueues sorts queues, each with the lease of its resource.
func besideQueues(by messages.Ranking, leases []*messages.Lease, queues []*messages.Queue) []ranked {
	all, held := make([]ranked, 0, len(queues)), make(map[string]*messages.Lease, len(leases))
	for _, l := range slices.Backward(leases) { // the first one of a resource counts
		held[messages.Qualify(l.GetTenant(), l.GetResource())] = l
	}
	for _, q := range queues {
		all = append(all, ranked{ranking.OfQueue(by, q), held[messages.Qualify(q.GetTenant(), q.GetResource())], q})
	}
	sortRanked(all)
	return all
}

func sortRanked(all []ranked) {
	slices.SortFunc(all, func(a, b ranked) int { return a.at.Compare(b.at) })
}
