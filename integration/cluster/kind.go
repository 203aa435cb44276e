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
	// KindMoveLeaders lets the leader of every stream step down.
	KindMoveLeaders Kind = "move-leaders"
)

// recipe is how a kind is done.
type recipe struct {
	need  need
	nodes int // how many it names; 0: it hits all
	// shares says that it leaves processes and disks to others.
	shares bool
	begin  func(context.Context, *Cluster, Fault, []*node) (heal, error)
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
	KindRolling:     {begin: rolling},
	KindPowerCut:    {need: disks, nodes: 1, begin: powerCut},
	KindPowerCutAll: {need: disks, begin: powerCut},
	KindDiskFull:    {need: disks, nodes: 1, begin: diskFull},
	KindDiskDead:    {need: disks, nodes: 1, begin: diskDead},
	KindFsyncFail:   {need: disks, nodes: 1, begin: fsyncFail},
	KindFsyncSlow:   {need: disks, nodes: 1, begin: fsyncSlow},
	KindMoveLeaders: {shares: true, begin: moveLeaders},
}

// Kinds returns all kinds, by name.
func Kinds() []Kind { return slices.Sorted(maps.Keys(recipes)) }

// Kinds returns those that can go wrong in this cluster.
func (c *Cluster) Kinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return c.can(recipes[k].need) != nil })
}

// Isolate takes a node from the network.
func Isolate(node string) Fault { return Fault{Kind: KindIsolate, Nodes: []string{node}} }

// Partition takes a node from the other nodes, and leaves it to the clients.
func Partition(node string) Fault { return Fault{Kind: KindPartition, Nodes: []string{node}} }

// Hide takes a node from the clients, and leaves it to the other nodes.
func Hide(node string) Fault { return Fault{Kind: KindHide, Nodes: []string{node}} }

// Split lets two nodes not reach one another.
func Split(one, other string) Fault { return Fault{Kind: KindSplit, Nodes: []string{one, other}} }

// Deaf loses all that is sent to a node.
func Deaf(node string) Fault { return Fault{Kind: KindDeaf, Nodes: []string{node}} }

// Mute loses all that a node sends.
func Mute(node string) Fault { return Fault{Kind: KindMute, Nodes: []string{node}} }

// Lose loses a share of a node's frames.
func Lose(node string, rate float64) Fault {
	return Fault{Kind: KindLose, Nodes: []string{node}, Rate: rate}
}

// Delay delays a node's frames. With jitter they overtake one another.
func Delay(node string, by, jitter time.Duration) Fault {
	return Fault{Kind: KindDelay, Nodes: []string{node}, Delay: by, Jitter: jitter}
}

// Duplicate doubles a share of a node's frames.
func Duplicate(node string, rate float64) Fault {
	return Fault{Kind: KindDuplicate, Nodes: []string{node}, Rate: rate}
}

// Reset makes a share of a node's TCP segments reset their connections.
func Reset(node string, rate float64) Fault {
	return Fault{Kind: KindReset, Nodes: []string{node}, Rate: rate}
}

// Pause stops a process.
func Pause(node string) Fault { return Fault{Kind: KindPause, Nodes: []string{node}} }

// Slow leaves a process a tenth of its time.
func Slow(node string) Fault { return Fault{Kind: KindSlow, Nodes: []string{node}} }

// Kill kills a process.
func Kill(node string) Fault { return Fault{Kind: KindKill, Nodes: []string{node}} }

// KillAll kills all processes.
func KillAll() Fault { return Fault{Kind: KindKillAll} }

// Terminate asks a process to end.
func Terminate(node string) Fault { return Fault{Kind: KindTerminate, Nodes: []string{node}} }

// Rolling asks one process after the other to end, and starts it again.
func Rolling() Fault { return Fault{Kind: KindRolling} }

// PowerCut cuts the power of a node.
func PowerCut(node string) Fault { return Fault{Kind: KindPowerCut, Nodes: []string{node}} }

// PowerCutAll cuts the power of all nodes.
func PowerCutAll() Fault { return Fault{Kind: KindPowerCutAll} }

// DiskFull fills a node's disk.
func DiskFull(node string) Fault { return Fault{Kind: KindDiskFull, Nodes: []string{node}} }

// DiskDead lets a node's disk refuse everything.
func DiskDead(node string) Fault { return Fault{Kind: KindDiskDead, Nodes: []string{node}} }

// FsyncFail lets every fsync of a node fail.
func FsyncFail(node string) Fault { return Fault{Kind: KindFsyncFail, Nodes: []string{node}} }

// FsyncSlow lets every fsync of a node take so much longer.
func FsyncSlow(node string, by time.Duration) Fault {
	return Fault{Kind: KindFsyncSlow, Nodes: []string{node}, Delay: by}
}

// MoveLeaders lets the leader of every stream step down.
func MoveLeaders() Fault { return Fault{Kind: KindMoveLeaders} }
