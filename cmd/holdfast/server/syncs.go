package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/jetstream"
)

// syncsAgain is the time between two requests to an external NATS: its servers may be started again with other
// settings.
const syncsAgain = time.Minute

// Synced reports whether NATS confirms a write only when it is on disk. It is not known of each external NATS.
func (s *Server) Synced() (synced, known bool) {
	if s.nats != nil {
		return s.nats.Synced(), true
	}
	last := s.node.synced.Load()
	return last != nil && *last, last != nil
}

// followSyncs requests from an external NATS how it stores, again and again, and logs each change.
func (i *instance) followSyncs(ctx context.Context) {
	again := time.NewTicker(syncsAgain)
	defer again.Stop()
	for {
		unsynced, err := jetstream.Unsynced(ctx, i.connections.storage, i.cfg.Prefix, i.deployment.Load().Divided())
		synced, last := len(unsynced) == 0, i.synced.Load()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, jetstream.ErrSyncsHidden):
			i.cfg.Log.Info("it is not known whether NATS syncs each write; set sync_interval: always there",
				"reason", err)
			return
		case err != nil: // a bucket has no leader at present
		default:
			i.synced.Store(&synced)
			if !synced && (last == nil || *last) {
				i.cfg.Log.Warn("NATS confirms writes that are not on disk yet: a power failure loses locks; "+
					"set sync_interval: always there",
					"servers", strings.Join(unsynced, ","))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
