package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
)

// peersFile lists the members of a Raft group. The NATS server writes it itself once it runs.
const peersFile = "peers.idx"

// minMembers is the number of new members that can create a cluster which was not bootstrapped by its first
// member. With two, a pair that joins could elect a leader without the existing member while it is away.
const minMembers = 3

// bootstrap writes the peers file into an empty data directory in the two cases where NATS by itself would
// create the wrong cluster.
//
// A server whose only route is its own becomes the only member of a new cluster. NATS does not create a
// cluster of one, but runs one that exists and lets others join. If a newer NATS does not accept the file, the
// server waits for a second member and logs that.
//
// A server with the route of one other member before its own joins that member. NATS would let it create a
// cluster with the first new member that it meets, and the other's streams would be deleted on its return.
func bootstrap(opts *server.Options) error {
	group := metaDir(opts)
	joined, err := holdsAny(group, anyEntry)
	if err != nil || joined {
		return err
	}
	state, err := initialPeers(opts)
	if err != nil || state == nil {
		return err
	}
	if err := os.MkdirAll(group, 0o700); err != nil {
		return dataDirError(opts.StoreDir, err)
	}
	// Renamed when complete: NATS would take a truncated file for a member that has lost its data.
	complete := filepath.Join(opts.StoreDir, peersFile)
	err = errors.Join(writeSynced(complete, state), os.Rename(complete, filepath.Join(group, peersFile)))
	for dir := group; err == nil && dir != filepath.Dir(opts.StoreDir); dir = filepath.Dir(dir) {
		err = syncDir(dir)
	}
	if err != nil {
		return dataDirError(opts.StoreDir, err)
	}
	return nil
}

// initialPeers returns the peers file of a new member, nil where NATS needs none.
func initialPeers(opts *server.Options) ([]byte, error) {
	if len(opts.Routes) != 1 && len(opts.Routes) != 2 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	own, err := ownRoute(ctx, opts.Routes, opts.Cluster.Host, opts.Cluster.Port, net.DefaultResolver.LookupHost)
	switch {
	case err != nil:
		return nil, err
	case len(opts.Routes) == 1 && own == 0:
		return onlyPeer(opts.ServerName), nil
	case len(opts.Routes) == 2 && own == 1:
		return encodePeers(minMembers), nil
	}
	return nil, nil
}

// metaDir returns the directory of the Raft group of the cluster.
func metaDir(opts *server.Options) string {
	return filepath.Join(opts.StoreDir, server.JetStreamStoreDir, server.DEFAULT_SYSTEM_ACCOUNT, "_js_", "_meta_")
}

// onlyPeer returns the peers file of a group of one.
func onlyPeer(name string) []byte { return encodePeers(1, jsapi.PeerID(name)) }

// encodePeers returns a peers file as nats-server 2.15 reads it: the size of the group, the number of ids that are
// known, the ids, and 0 for a group that does not extend another.
func encodePeers(size uint32, known ...string) []byte {
	file := binary.LittleEndian.AppendUint32(nil, size)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(known)))
	file = append(file, strings.Join(known, "")...)
	return binary.LittleEndian.AppendUint16(file, 0)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
