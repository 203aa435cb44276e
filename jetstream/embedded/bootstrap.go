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

// peersFile says who the members of a Raft group are. The server writes it itself once it runs.
const peersFile = "peers.idx"

// atLeast is how many new members it takes to make a cluster that does not begin with its first: with
// two, a pair that joins could elect one another over the head of the member that is away.
const atLeast = 3

// found says, in a directory that is still empty, how the server comes to its cluster where NATS by itself
// would do something else.
//
// A server that knows nobody but itself is the one member of a new cluster. NATS makes none of fewer than
// two, but it runs one, and lets others join: so the directory says that the cluster is there already.
// Should a newer NATS not believe it, the server waits for a second member and says so.
//
// A server that knows one other, named before it, joins that one. NATS would let it make a cluster with
// whichever new member it meets first, and the locks of the other would be deleted when it came back.
func found(opts *server.Options) error {
	group := metaDir(opts)
	joined, err := holdsAny(group, anyEntry)
	if err != nil || joined {
		return err
	}
	state, err := firstPeers(opts)
	if err != nil || state == nil {
		return err
	}
	if err := os.MkdirAll(group, 0o700); err != nil {
		return dataDirError(opts.StoreDir, err)
	}
	// Renamed when complete: a file cut short would be taken for a member that has lost its memory.
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

// firstPeers is the peers file of a member that is new, nil where NATS does what it should by itself.
func firstPeers(opts *server.Options) ([]byte, error) {
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
		return peers(atLeast), nil
	}
	return nil, nil
}

// metaDir is where the server keeps what it knows of its cluster.
func metaDir(opts *server.Options) string {
	return filepath.Join(opts.StoreDir, server.JetStreamStoreDir, server.DEFAULT_SYSTEM_ACCOUNT, "_js_", "_meta_")
}

// onlyPeer is the peers file of a group of one.
func onlyPeer(name string) []byte { return peers(1, jsapi.PeerID(name)) }

// peers is a peers file as nats-server 2.15 reads it: the size of the group, the number of ids that are
// known, the ids, and 0 for a group that does not extend another.
func peers(size uint32, known ...string) []byte {
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
