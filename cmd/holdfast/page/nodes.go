package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// nodeRow is a node that runs or that is missing, or a NATS server that is no node, as views show it.
type nodeRow struct {
	Name, Version string
	// State says in words how it is. Ill: it is not as it should be.
	State string
	Ill   bool
	// Here: it is the node that shows the page.
	Here bool
	// Owns is how many shards it owns, and Shards which.
	Owns   int
	Shards string
	// Counted: it has reported how many leases are Held, how many requests are Waiting in queues, and how many are
	// Pending.
	Counted                bool
	Held, Waiting, Pending int64
	// Replicas is how many buckets it stores, Leads how many of them it leads, Behind how many of its replicas are away or
	// behind.
	Replicas, Leads, Behind int
	// Free and Size are of its disk, in bytes; 0: not known.
	Free, Size uint64
}

// nodeTable is the table of nodes, as two views have it.
type nodeTable struct {
	Nodes []nodeRow
	Total nodeRow
	Order order
}

// Disk returns what is free of the disk.
func (r nodeRow) Disk() string {
	if r.Size == 0 {
		return "–"
	}
	return fmt.Sprintf("%d%% of %s free", r.Free*100/r.Size, display.Bytes(r.Size))
}

// nodesOf returns the nodes that run, those that were there and are lost, and the servers that store buckets. What is
// ill comes first.
func nodesOf(s *doctor.Survey, lost map[string]time.Time, here string) []nodeRow {
	rows := make(map[string]*nodeRow)
	for _, n := range s.Info.GetNodes() {
		rows[n.GetName()] = &nodeRow{
			Name: n.GetName(), Version: n.GetVersion(), State: "runs", Here: n.GetName() == here,
			Owns: len(n.GetShards()), Shards: cli.Slots(n.GetShards()),
		}
	}
	for name, at := range lost {
		if rows[name] == nil {
			rows[name] = &nodeRow{Name: name, State: "lost " + duration(time.Since(at).Round(time.Second)) + " ago", Ill: true}
		}
	}
	for name, r := range rows {
		if s.Nodes != nil && !r.Ill {
			r.count(s.Nodes[name])
		}
	}
	addReplicas(rows, s)
	return slices.SortedFunc(func(yield func(nodeRow) bool) {
		for _, r := range rows {
			if !yield(*r) {
				return
			}
		}
	}, func(a, b nodeRow) int { return cmp.Or(trueFirst(a.Ill, b.Ill), strings.Compare(a.Name, b.Name)) })
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// count takes what the node has reported; nil: nothing.
func (r *nodeRow) count(n *doctor.NodeStats) {
	if n == nil {
		r.State, r.Ill = "does not answer", true
		return
	}
	r.Counted, r.Held, r.Waiting, r.Pending = true, n.Held, n.Waiting, n.Pending
	if disk := n.Storage; disk != nil {
		r.Free, r.Size = disk.FreeBytes, disk.TotalBytes
		if disk.Fault != "" {
			r.State, r.Ill = "cannot store", true
		}
	}
}

// addReplicas adds which server stores which buckets. A server that is no node has a row of its own.
func addReplicas(rows map[string]*nodeRow, s *doctor.Survey) {
	of := func(server string) *nodeRow {
		if rows[server] == nil {
			rows[server] = &nodeRow{Name: server, State: "stores"}
		}
		return rows[server]
	}
	for _, b := range s.Buckets {
		for i, server := range b.Servers {
			r := of(server)
			r.Replicas++
			if i == 0 {
				r.Leads++
			}
		}
		for _, server := range b.Behind {
			of(server).Behind++
		}
		for _, server := range b.Away {
			r := of(server)
			r.Behind++
			if r.Ill = true; r.State == "stores" || r.State == "runs" {
				r.State = "away"
			}
		}
	}
}

// running returns how many nodes run.
func running(rows []nodeRow) (n int) {
	for _, r := range rows {
		if r.Version != "" {
			n++
		}
	}
	return n
}

// totalOf returns the sums of all nodes.
func totalOf(rows []nodeRow) nodeRow {
	t := nodeRow{}
	for _, r := range rows {
		t.Owns += r.Owns
		t.Counted = t.Counted || r.Counted
		t.Held, t.Waiting, t.Pending = t.Held+r.Held, t.Waiting+r.Waiting, t.Pending+r.Pending
		t.Replicas, t.Leads, t.Behind = t.Replicas+r.Replicas, t.Leads+r.Leads, t.Behind+r.Behind
	}
	return t
}
