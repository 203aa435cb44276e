// Package agent proves the fencing agent end to end, on the real binary. Its test runs processes that write into a file
// without a fence, each under holdfast lock --confirm, and pauses them at random moments for longer than their leases.
// The command of the agent kills a former holder before the next one is let in, so the file has the writes of one
// holder after those of the other. Without the agent, they mix.
package agent
