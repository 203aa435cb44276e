package main

import (
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// announce tells a person, and whatever has started the process, that locks can be taken, and how to
// take the first. Tools may wait for the word "ready".
func announce(w io.Writer, r *server) error {
	where := ""
	if r.url() != nats.DefaultURL {
		where = " --server " + r.url()
	}
	prefix := ""
	if r.settings.prefix != string(messages.DefaultPrefix) {
		prefix = " --prefix " + r.settings.prefix
	}
	_, err := fmt.Fprintf(w, `Holdfast is ready: NATS at %s, node %s, %d shards, data in %s
Take a lock:  holdfast acquire orders.42 --owner me --ttl 30s%s%s
         or:  nats%s req %s '{"owner":"me","ttl_ms":30000}'
`, r.url(), shown(r.settings.name), r.deployment.Shards(), r.data(), where, prefix,
		where, messages.Prefix(r.settings.prefix).Operation(messages.OpAcquire, "orders.42"))
	return err
}
