package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// announce tells a person, and whatever has started the process, that locks can be taken, and how to
// take the first. Tools may wait for the word "ready". With a log in JSON it is a record like those of the
// log, at whatever level that is.
func announce(w io.Writer, r *server) error {
	if r.settings.logFormat.word == "json" {
		return announceJSON(w, r)
	}
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

func announceJSON(w io.Writer, r *server) error {
	record := slog.NewRecord(time.Now(), slog.LevelInfo, "Holdfast is ready", 0)
	record.Add("nats", r.url(), "node", r.settings.name, "shards", r.deployment.Shards(), "data", r.data(),
		"prefix", r.settings.prefix)
	return slog.NewJSONHandler(w, nil).Handle(context.Background(), record)
}
