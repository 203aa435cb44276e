//go:build linux

package cluster

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds. Most hit one node, and that is not said.
const (
	// KindIsolate takes a node from the network.
	KindIsolate Kind = "isolate"
	// KindPartition takes a node from the other nodes. Clients still reach it.
	KindPartition Kind = "partition"
	// KindHide takes a node from the clients. The other nodes still reach it.
	KindHide Kind = "hide"
	// KindSplit lets two nodes not reach one another, while all others reach both.
	KindSplit Kind = "split"
	// KindDeaf loses all that is sent to a node, KindMute all that it sends.
	KindDeaf Kind = "deaf"
	KindMute Kind = "mute"
	// KindLose, KindDelay, KindDuplicate and KindReset do so with frames from and to a node. A reset is of a
	// TCP connection.
	KindLose      Kind = "lose"
	KindDelay     Kind = "delay"
	KindDuplicate Kind = "duplicate"
	KindReset     Kind = "reset"
	// KindPause stops a process, KindSlow stops it most of the time.
	KindPause Kind = "pause"
	KindSlow  Kind = "slow"
	// KindKill kills a process, KindKillAll those of all nodes at once; KindTerminate asks it to end. Healing
	// starts them again.
	KindKill      Kind = "kill"
	KindKillAll   Kind = "kill-all"
	KindTerminate Kind = "terminate"
	// KindRolling asks one node after the other to end and starts it again, when the one before is healthy.
	KindRolling Kind = "rolling"
	// KindPowerCut kills a node and its disk loses what was not synced, KindPowerCutAll all nodes at once.
	KindPowerCut    Kind = "power-cut"
	KindPowerCutAll Kind = "power-cut-all"
	// KindDiskFull takes all space, KindDiskDead lets a disk refuse everything, KindFsyncFail lets fsync fail,
	// KindFsyncSlow takes its time. Only healing KindDiskDead starts the node again: its file system has to be
	// mounted anew. From the others a node recovers by itself.
	KindDiskFull  Kind = "disk-full"
	KindDiskDead  Kind = "disk-dead"
	KindFsyncFail Kind = "fsync-fail"
	KindFsyncSlow Kind = "fsync-slow"
	// KindFlipBit changes a bit in each of some files of JetStream while their node is down, KindTruncate cuts each of
	// them. Healing starts the node and waits until the cluster is healthy.
	KindFlipBit  Kind = "flip-bit"
	KindTruncate Kind = "truncate"
	// KindReplace lets another node join, kills the one that it names, removes it from the cluster, and waits until it is
	// healthy. Afterwards there is another node in its place.
	KindReplace Kind = "replace"
	// KindMoveLeaders lets the leader of every stream step down.
	KindMoveLeaders Kind = "move-leaders"
	// KindReshard gives the cluster another number of shards. With a delay, the command that does it is killed after that.
	// Healing waits until the command has ended, and what it left under way is given up.
	KindReshard Kind = "reshard"
)

// recipe is how a kind is done.
type recipe struct {
	need  need
	nodes int // how many it names; 0: it hits all
	// shares says that it leaves processes and disks to others.
	shares bool
	// files says that it damages what a node stores.
	files bool
	// alone says that it waits until the cluster is healthy, which other faults of a random schedule must not delay.
	alone bool
	begin func(context.Context, *Cluster, Fault, []*node) (heal, error)
}

var recipes = map[Kind]recipe{
	KindIsolate:     {need: networks, nodes: 1, begin: cut(touches)},
	KindPartition:   {need: networks, nodes: 1, begin: cut(touchesNodes)},
	KindHide:        {need: networks, nodes: 1, begin: cut(touchesClients)},
	KindSplit:       {need: networks, nodes: 2, begin: cut(between)},
	KindDeaf:        {need: networks, nodes: 1, begin: cut(leadsTo)},
	KindMute:        {need: networks, nodes: 1, begin: cut(leadsFrom)},
	KindLose:        {need: networks, nodes: 1, begin: disturb},
	KindDelay:       {need: networks, nodes: 1, begin: disturb},
	KindDuplicate:   {need: networks, nodes: 1, begin: disturb},
	KindReset:       {need: networks, nodes: 1, begin: disturb},
	KindPause:       {nodes: 1, begin: pause},
	KindSlow:        {nodes: 1, begin: slow},
	KindKill:        {nodes: 1, begin: kill},
	KindKillAll:     {begin: kill},
	KindTerminate:   {nodes: 1, begin: terminate},
	KindRolling:     {alone: true, begin: rolling},
	KindPowerCut:    {need: disks, nodes: 1, begin: powerCut},
	KindPowerCutAll: {need: disks, begin: powerCut},
	KindDiskFull:    {need: disks, nodes: 1, begin: diskFull},
	KindDiskDead:    {need: disks, nodes: 1, begin: diskDead},
	KindFsyncFail:   {need: disks, nodes: 1, begin: fsyncFail},
	KindFsyncSlow:   {need: disks, nodes: 1, begin: fsyncSlow},
	KindFlipBit:     {nodes: 1, files: true, alone: true, begin: damage},
	KindTruncate:    {nodes: 1, files: true, alone: true, begin: damage},
	KindReplace:     {nodes: 1, alone: true, begin: replace},
	KindMoveLeaders: {shares: true, begin: moveLeaders},
	KindReshard:     {shares: true, begin: reshard},
}

// Kinds returns all kinds, by name.
func Kinds() []Kind { return slices.Sorted(maps.Keys(recipes)) }

// Can reports whether faults of this kind are possible in the cluster.
func (c *Cluster) Can(k Kind) bool {
	possible := true
	switch k { // the commands of the operator do not log in
	case KindReplace:
		possible = !c.cfg.External && c.cfg.Login == nil
	case KindReshard:
		possible = c.cfg.Former == "" && c.cfg.Login == nil
	}
	return possible && c.can(recipes[k].need) == nil
}

// On is a fault of this kind that hits these nodes.
func (k Kind) On(nodes ...string) Fault { return Fault{Kind: k, Nodes: nodes} }

// At is the fault with a rate, for [KindLose], [KindDuplicate] and [KindReset].
func (f Fault) At(rate float64) Fault {
	f.Rate = rate
	return f
}

// In is the fault in stored files of a sort of [StoredFiles], for [KindFlipBit] and [KindTruncate], with the seed of where
// it hits them.
func (f Fault) In(files string, seed uint64) Fault {
	f.Files, f.Seed = files, seed
	return f
}

// To is the fault with a number of shards, for [KindReshard].
func (f Fault) To(shards int) Fault {
	f.Shards = shards
	return f
}

// By is the fault with a delay, for [KindDelay], [KindFsyncSlow] and [KindReshard], and by how much the delay varies.
func (f Fault) By(delay, jitter time.Duration) Fault {
	f.Delay, f.Jitter = delay, jitter
	return f
}
