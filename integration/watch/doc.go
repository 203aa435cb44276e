// Package watch holds the events that the client's Watch tells against the journals themselves.
package watch
