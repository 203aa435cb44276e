// Package network puts hosts with a delay between them on one machine: each is a Linux network namespace with one
// device, and a process of the benchmark itself is the switch that joins them. It needs root. Nothing has a name outside,
// and all of it is gone when the benchmark has ended, in whatever way.
package network
