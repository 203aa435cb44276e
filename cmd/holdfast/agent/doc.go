// Package agent is the command fence-agent: it stops the holders of lost leases by running a command, and confirms
// that.
package agent
