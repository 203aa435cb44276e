package request

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

const (
	// firstTrial and maxTrial are the pauses between trials of whether the service takes batches from this user. A
	// user without the permission causes an error of the connection with each.
	firstTrial = time.Second
	maxTrial   = time.Hour
)

// batching is whether requests are sent in batches. A user may lack the permission to send them, which a client
// notices late or not at all. So a batch of an empty call is tried, and others follow its answer. It is safe for
// concurrent use. The zero batching sends none.
type batching struct {
	mu sync.Mutex
	// offered: the deployment takes batches. proved: it takes those of this user.
	offered, proved bool
	// next is when the next trial may be, and pause how long that is after the last one without an answer on this
	// connection.
	next, pause time.Duration
}

// offer sets whether the deployment takes batches.
func (b *batching) offer(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offered = is
}

// prove notes that a batch was answered.
func (b *batching) prove() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.proved, b.pause = true, 0
}

// tryAgain makes another trial necessary; anew: at once, since the connection is another one.
func (b *batching) tryAgain(anew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.proved = false
	if anew {
		b.next, b.pause = 0, 0
	}
}

// may reports whether batches may be sent; else, try whether one is to be tried now.
func (b *batching) may(now time.Duration) (batches, try bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.offered || b.proved {
		return b.offered, false
	}
	if now < b.next {
		return false, false
	}
	b.pause = longer(b.pause, firstTrial, maxTrial)
	b.next = now + b.pause
	return false, true
}

// batch is a batch that is being filled.
type batch struct {
	shard messages.Shard
	calls []*attempt
	// size is how many bytes it takes.
	size int
}

// bundle returns the attempts as batches of at most so many bytes, one or more for each shard, in the order of the
// attempts of a shard, and those that go alone: they are the only one for their shard, or on no direct route, or not in
// protobuf, or have a header.
func bundle(queue []*attempt, maxBytes int) (batches []*batch, alone []*attempt) {
	open := make(map[messages.Shard]*batch)
	for _, a := range queue {
		size := messages.SizeCall(a.id, a.to.key, a.to.op, a.payload)
		if !a.to.direct || a.header != nil || size > maxBytes || a.encoding != messages.Protobuf {
			alone = append(alone, a)
			continue
		}
		b := open[a.to.shard]
		if b == nil || b.size+size > maxBytes || len(b.calls) == messages.MaxBatchCalls {
			b = &batch{shard: a.to.shard}
			open[a.to.shard] = b
			batches = append(batches, b)
		}
		b.calls = append(b.calls, a)
		b.size += size
	}
	return batches, alone
}

// appendTo appends the payload of the batch.
func (b *batch) appendTo(payload []byte) []byte {
	payload = slices.Grow(payload, b.size)
	for _, a := range b.calls {
		payload = messages.AppendCall(payload, a.id, a.to.key, a.to.op, a.payload)
	}
	return payload
}
