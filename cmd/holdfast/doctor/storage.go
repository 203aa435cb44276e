package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	buckets "github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// A disk is nearly full if less than fullShare of it and less than fullBytes are free.
	fullShare, fullBytes = 0.05, 5e9
	// accountShare is the part of the storage of an account from which it is nearly used up.
	accountShare = 0.9
	// certificateLeft is how long before its end a certificate is a finding.
	certificateLeft = 14 * 24 * time.Hour
)

// storage checks what the NATS servers of the nodes store on, and what the account may store.
func (d *deployment) storage(ctx context.Context, r *Result) {
	var seen, elsewhere []string
	for _, name := range slices.Sorted(maps.Keys(d.nodes)) {
		if s := d.nodes[name].Storage; s == nil {
			elsewhere = append(elsewhere, display.Name(name))
		} else {
			seen = append(seen, fmt.Sprintf("%s: %s", display.Name(name), d.disk(r, name)))
		}
	}
	r.see("%s", strings.Join(seen, "; "))
	if d.synced = !d.unknown(r); len(elsewhere) > 0 {
		r.hidden(
			"NATS in the process of %s; of another NATS a user of the system account sees the disks with nats server "+
				"report jetstream, and %s",
			strings.Join(elsewhere, ", "), d.elsewhere(ctx, r))
	}
	for _, n := range d.nodes {
		d.synced = d.synced && (n.Storage == nil || n.Storage.Synced)
	}
	d.account(ctx, r)
}

// elsewhere checks whether the NATS servers outside of the nodes sync each write, and returns what is known of it.
func (d *deployment) elsewhere(ctx context.Context, r *Result) string {
	unsynced, err := buckets.Unsynced(ctx, d.cfg.Conn, d.cfg.Prefix, messages.ShardsOf(d.info))
	d.synced = err == nil && len(unsynced) == 0
	for _, server := range unsynced {
		r.unsynced("the NATS server "+display.Name(server),
			"set sync_interval: always in the section jetstream of its configuration, and restart it")
	}
	switch {
	case err != nil:
		return "whether it syncs each write is not known: " + display.OneLine(err.Error())
	case d.synced:
		return "it syncs each write"
	}
	return "it does not sync each write"
}

// unsynced adds that a server of NATS can lose what it has confirmed.
func (r *Result) unsynced(server, do string) {
	r.problem(server+" confirms writes that are not on disk yet",
		"a power failure loses locks that were granted, and their tokens are issued a second time", do)
	r.as("HoldfastDoesNotSync")
}

// disk checks that of a node, and returns what was seen.
func (d *deployment) disk(r *Result, name string) string {
	s, node := d.nodes[name].Storage, display.Name(name)
	if !s.Synced {
		r.unsynced("node "+node, fmt.Sprintf(
			"start %s without --unsafe-sync, and with sync_interval: always in its configuration of NATS", node))
	}
	if s.Fault != "" {
		r.problem(fmt.Sprintf("node %s cannot store: %s", node, display.OneLine(s.Fault)),
			"its replicas fall behind, and without a majority of replicas the shards stop",
			fmt.Sprintf("free space on the disk of %s, or replace it; the node stores again by itself within 30 s",
				node))
		r.as("HoldfastStorageFault")
	}
	for _, use := range slices.Sorted(maps.Keys(s.Certificates)) {
		if left := time.Until(s.Certificates[use]); left < certificateLeft {
			r.warn(fmt.Sprintf("the certificate of node %s for %s ends on %s", node, display.Name(use),
				s.Certificates[use].UTC().Format(time.DateOnly)),
				"then nobody can connect who verifies it",
				"replace the file and its key, and have the node read them again, with SIGHUP")
			r.as("HoldfastCertificateEnds")
		}
	}
	if s.TotalBytes == 0 {
		return "free space unknown"
	}
	free := fmt.Sprintf("%s of %s free", display.Bytes(s.FreeBytes), display.Bytes(s.TotalBytes))
	if float64(s.FreeBytes) < fullShare*float64(s.TotalBytes) && s.FreeBytes < fullBytes {
		r.warn(fmt.Sprintf("the disk of node %s is nearly full: %s", node, free),
			"a node with a full disk stores nothing",
			fmt.Sprintf("free space on it, or move the data directory of %s to a larger disk while the other nodes run",
				node))
		r.as("HoldfastDiskNearlyFull")
	}
	return free
}

// account compares what JetStream stores for the account with what it may. Without the right to ask, and without a
// bound, there is nothing to compare.
func (d *deployment) account(ctx context.Context, r *Result) {
	m, err := d.caller.Send(ctx, answerTimeout, nats.NewMsg(jetstream.DefaultAPIPrefix+"INFO"))
	if err != nil {
		return
	}
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.AccountInfo
	}
	if json.Unmarshal(m.Data, &answer) != nil || answer.Error != nil || answer.Limits.MaxStore <= 0 {
		return
	}
	used, limit := answer.Store, uint64(answer.Limits.MaxStore)
	if float64(used) < accountShare*float64(limit) {
		return
	}
	r.warn(fmt.Sprintf("the NATS account has used %s of the %s that it may store", display.Bytes(used), display.Bytes(limit)),
		"JetStream refuses every commit when all of it is used",
		"raise the storage limit of the account (jetstream: max_file), or remove other streams from it")
}
