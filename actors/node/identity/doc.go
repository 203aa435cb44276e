// Package identity finds out who has sent a request, as NATS has verified it, and compares that with the owner in the
// request. It is pure but for a cache.
package identity
