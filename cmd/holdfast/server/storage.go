package server

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
)

// lookAgain is the time between two looks at what the embedded NATS server stores on.
const lookAgain = time.Second

// followStorage looks again and again. NATS answers only when its disk has synced, so nobody else may ask it: a node answers
// questions about itself while its disk is stuck.
func (i *instance) followStorage(ctx context.Context) {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			i.look()
		}
	}
}

// look asks the embedded NATS server what waits for its disk.
func (i *instance) look() {
	s := node.Storage{Certificates: i.nats.Certificates(), Behind: map[uint32]int{}}
	behind := i.streams.Behind()
	for shard := range i.deployment.Shards() {
		if n, leads := behind[i.deployment.Bucket(shard).Stream()]; leads {
			s.Behind[shard] = n
		}
	}
	i.looked.Store(&s)
}

// storage returns what the embedded NATS server stores on. It does not wait for the disk to sync.
func (i *instance) storage() node.Storage {
	s := *i.looked.Load()
	s.Synced = i.nats.Synced()
	s.FreeBytes, s.TotalBytes = i.nats.Space()
	if fault := i.nats.Fault(); fault != nil {
		s.Fault = fault.Error()
	}
	return s
}
