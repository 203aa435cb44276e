//go:build linux

package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// storedFiles are the files of JetStream that can be damaged, by what is stored there: patterns within a node's data.
var storedFiles = map[string]string{
	// The messages of streams, and what NATS has noted of them so as to start sooner.
	"messages": "jetstream/*/streams/*/msgs/*.blk",
	"index":    "jetstream/*/streams/*/msgs/index.db",
	// The Raft logs of streams, and the term and vote of each. Their snapshots are left alone: NATS does not start a
	// replica from a damaged one, and the node has to be started anew without data.
	"log":  "jetstream/$SYS/_js_/S-*/msgs/*.blk",
	"vote": "jetstream/$SYS/_js_/S-*/tav.idx",
	// The Raft log of the cluster itself, which decides who keeps which stream.
	"cluster": "jetstream/$SYS/_js_/_meta_/msgs/*.blk",
}

// StoredFiles returns what a [Fault] of KindFlipBit or KindTruncate can damage.
func StoredFiles() []string { return slices.Sorted(maps.Keys(storedFiles)) }

// damage ends a node, by a signal that is drawn, and damages each of its files of a sort at a place that is drawn.
// Healing starts it again and waits until the cluster is healthy: until then another node that fails may be the only
// other one that keeps a message.
func damage(ctx context.Context, c *Cluster, f Fault, hit []*node) (heal, error) {
	n, dice := hit[0], rand.New(rand.NewPCG(f.Seed, 0))
	pattern, ok := storedFiles[f.Files]
	if !ok {
		return nil, fmt.Errorf("nothing stored is %q; there are %q", f.Files, StoredFiles())
	}
	pid, err := n.end(ctx, []unix.Signal{unix.SIGKILL, unix.SIGTERM}[dice.IntN(2)])
	if err != nil {
		return nil, err
	}
	hurt, size, failed := 0, int64(0), error(nil)
	files, err := filepath.Glob(filepath.Join(n.files(), pattern))
	for _, file := range files {
		bytes, err := damageFile(f.Kind, file, dice)
		if bytes > 0 {
			hurt++
			size += bytes
		}
		failed = errors.Join(failed, err)
	}
	if err := errors.Join(err, failed); err != nil {
		return nil, errors.Join(err, n.start())
	}
	return func(ctx context.Context) (string, error) {
		evidence, err := goneAll([]int{pid}, n.start())
		if hurt == 0 {
			err = errors.Join(err, fmt.Errorf("%w: it stores nothing as %s", ErrNoEvidence, pattern))
		}
		return fmt.Sprintf("%s; %d files differ, by %d bytes", evidence, hurt, size),
			errors.Join(err, c.WaitHealthy(ctx))
	}, nil
}

// damageFile flips one bit of a file, or cuts its end off, and returns by how many bytes it differs now.
func damageFile(kind Kind, path string, dice *rand.Rand) (int64, error) {
	before, err := os.ReadFile(path)
	if err != nil || len(before) == 0 {
		return 0, err
	}
	at := dice.IntN(len(before))
	for kind == KindFlipBit && filepath.Ext(path) == ".blk" && inHighSequence(before, at) {
		at = dice.IntN(len(before))
	}
	if kind == KindTruncate {
		if err := os.Truncate(path, int64(at)); err != nil {
			return 0, err
		}
		now, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		return int64(len(before)) - now.Size(), nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	flipped := []byte{before[at] ^ 1<<dice.IntN(8)}
	_, err = f.WriteAt(flipped, int64(at))
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	after, err := os.ReadFile(path)
	if err != nil || len(after) != len(before) || after[at] != flipped[0] {
		return 0, errors.Join(err, fmt.Errorf("%w: %s is as it was", ErrNoEvidence, path))
	}
	return 1, nil
}

// inHighSequence reports whether a place in a block of messages is in the high bytes of a sequence number. Those are
// left alone: nats-server 2.15.2 does not check a sequence number when it indexes a block, inserts all numbers up to one
// that has become huge into its set of deleted ones, and does not start for hours.
func inHighSequence(block []byte, at int) bool {
	const header, high, timestamp = 22, 4 + 3, 12 // a record begins with its length, a sequence number and a time
	const hasHeaders = 1 << 31
	for start := 0; start+header <= len(block); {
		length := int(binary.LittleEndian.Uint32(block[start:]) &^ hasHeaders)
		if length < header || at < start+length {
			return at >= start+high && at < start+timestamp
		}
		start += length
	}
	return false
}
