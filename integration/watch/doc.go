// Package watch holds the events that the client's Watch yields against the journals themselves.
package watch
