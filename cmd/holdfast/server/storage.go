package server

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream"
)

const (
	// lookAgain is the time between two looks at what the embedded NATS server stores on. A leadership counts only
	// after it has lasted for much longer, so a shorter time would change nothing.
	lookAgain = time.Second
	// lookExpires is how long a look says which streams the server leads: one whose disk is stuck soon leads none.
	lookExpires = 5 * lookAgain
)

// localStreams is what the embedded NATS server knows of the streams of the deployment. Its methods wait while the disk
// of the server is stuck: the server holds its locks during a sync.
type localStreams interface {
	jetstream.LocalStreams
	// Behind returns how many replicas are away or behind, of each stream that the server leads.
	Behind() map[string]int
}

// look is what the embedded NATS server said of its storage, and when.
type look struct {
	storage node.Storage
	at      time.Time
}

// followStorage looks again and again. Nothing else that a node needs may ask the server: a node announces itself and
// answers questions about itself while its disk is stuck.
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
	d := i.deployment.Load()
	for shard := range d.Shards() {
		if n, leads := behind[d.Bucket(shard).Stream()]; leads {
			s.Behind[shard] = n
		}
	}
	i.looked.Store(&look{storage: s, at: time.Now()})
}

// storage returns what the embedded NATS server stores on. It does not wait for the disk to sync.
func (i *instance) storage() node.Storage {
	s := i.looked.Load().storage
	s.Synced = i.nats.Synced()
	s.FreeBytes, s.TotalBytes = i.nats.Space()
	if fault := i.nats.Fault(); fault != nil {
		s.Fault = fault.Error()
	}
	return s
}

// leads reports whether the embedded NATS server led the stream of a shard at the last look, if that was not long ago.
// It does not wait for the disk to sync.
func (i *instance) leads(shard uint32) bool {
	last := i.looked.Load()
	_, leads := last.storage.Behind[shard]
	return leads && time.Since(last.at) < lookExpires
}
