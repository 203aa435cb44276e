package lease

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// maxHolders is how many leases may be held on one resource, or hold it back.
	maxHolders = 1000
	// maxWeight is how many bytes they may take when they are stored. All of them may end and as many be granted in one
	// step, and all of that goes into one commit, a message of at most 1 MB.
	maxWeight = 480 << 10
)

// isFull says which limit of the resource keeps another lease out; empty: none.
func isFull(name string, i *Image) string { return fullOf(name, i.Leases(), i.Weight()) }

// fullOf is [isFull] if there were n leases of this weight.
func fullOf(name string, n, weight int) string {
	switch {
	case n >= maxHolders:
		return fmt.Sprintf("resource %q: %d leases are held, the most that may; try later", name, n)
	case n > 0 && weight >= maxWeight:
		return fmt.Sprintf(
			"resource %q: %d leases with their owners and metadata take %d bytes, the most that may; try later",
			name, n, maxWeight)
	}
	return ""
}

// outgrows says why a lease may not become as large as this beside the others that are held; empty: it may.
func outgrows(name string, i *Image, before, after *journal.Grant) string {
	more := after.Weight() - before.Weight()
	if n := i.Holders(); n > 1 && more > 0 && i.Weight()+more > maxWeight {
		return fmt.Sprintf(
			"resource %q: %d leases with their owners and metadata would take more than %d bytes, the most "+
				"that may; set less, or try later", name, n, maxWeight)
	}
	return ""
}
