// Package faults lets things go wrong in real clusters under load, and holds what clients received against
// everything that package linear knows. It has tests alone.
//
// A trial is a cluster of its own, from empty disks: clients begin, and beside them the workers of a fenced
// register, faults happen that a seed has drawn, all is healed, the cluster becomes healthy, and then every
// resource must be free, every history must be explained, and every increment that was
// acknowledged must be in the register. A fault that could not be proved, because others hid it, does not
// count. A trial without any that could, or in which too little has happened, is void: it counts for
// nothing, unless something is wrong in it.
package faults
