// Package identity tests verified owners on real NATS servers, with all ways to log in.
package identity
