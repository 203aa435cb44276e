// Package peersfile writes the file in which nats-server keeps the members of a cluster, for a server that has none
// yet.
//
// The file is an internal of nats-server. There is no other way: a cluster of one is what a deployment grows from, and
// nats-server runs one that exists, but creates none with fewer than two members (bootstrapRaftNode in its raft.go).
// What this package knows of the file was checked with nats-server 2.15; its test reads what that writes.
package peersfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/durable"
	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
)

const name = "peers.idx"

// Dir returns the folder of the Raft group that all members of a cluster form, within a store of nats-server.
func Dir(store string) string {
	return filepath.Join(store, server.JetStreamStoreDir, server.DEFAULT_SYSTEM_ACCOUNT, "_js_", "_meta_")
}

// CreateOfOne has the server begin as the only member of a cluster.
func CreateOfOne(store, serverName string) error { return create(store, ofOne(serverName)) }

// Create has the server wait until it belongs to a cluster of this number of members, none of which it knows.
func Create(store string, members uint32) error { return create(store, encode(members)) }

// IsOfOne reports whether the server of this name is the only member of its cluster.
func IsOfOne(store, serverName string) (bool, error) {
	members, err := os.ReadFile(filepath.Join(Dir(store), name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.Equal(members, ofOne(serverName)), err
}

func ofOne(serverName string) []byte { return encode(1, jsapi.PeerID(serverName)) }

// encode returns the content of a file: the size of the group, the number of ids that are known, the ids, and 0 for a
// group that does not extend another.
func encode(size uint32, known ...string) []byte {
	file := binary.LittleEndian.AppendUint32(nil, size)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(known)))
	file = append(file, strings.Join(known, "")...)
	return binary.LittleEndian.AppendUint16(file, 0)
}

// create writes the file on disk and renames it when it is complete: nats-server would take a truncated one for that of
// a member which has lost its data.
func create(store string, content []byte) error {
	dir, complete := Dir(store), filepath.Join(store, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := errors.Join(durable.WriteFile(complete, content), os.Rename(complete, filepath.Join(dir, name)))
	for ; err == nil && dir != filepath.Dir(store); dir = filepath.Dir(dir) {
		err = durable.SyncDir(dir)
	}
	return err
}
