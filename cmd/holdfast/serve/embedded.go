package serve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// embeddedNATS is the NATS server in this process.
type embeddedNATS struct{ config embedded.Config }

func (e *embeddedNATS) add(f *pflag.FlagSet) {
	f.StringVar(&e.config.Listen, "listen", "127.0.0.1:4222", "`HOST:PORT` for clients; port 0 takes any free one")
	f.StringVar(&e.config.DataDir, "data", "./data", "data directory `DIR`; created if it is missing")
	f.StringVar(&e.config.AuthFile, "auth", "",
		"`FILE` with the logins of clients, in the syntax of a NATS configuration")
	f.StringVar(&e.config.ConfigFile, "nats-config", "",
		"NATS configuration `FILE`, instead of --listen, --data, --auth and TLS")
	f.StringVar(&e.config.ClusterListen, "cluster-listen", "", "`HOST:PORT` for the other members of the cluster")
	f.StringSliceVar(&e.config.Routes, "routes", nil,
		"`LIST` of every member's --cluster-listen, with commas; the same on all")
	f.BoolVar(&e.config.AllowRemote, "allow-remote", false,
		"accept connections of other hosts although no login is required")
	f.BoolVar(&e.config.UnsafeSync, "unsafe-sync", false,
		"do not sync every write: faster, but a power failure loses locks")
	_ = cobra.MarkFlagDirname(f, "data") // the flag exists
}

func (e *embeddedNATS) check(given *settings.Settings) error {
	byFlags := []string{
		"listen", "data", "auth", "cluster-listen", "routes", "allow-remote", "tls-verify", "cluster-tls",
	}
	bounds := []string{"max-connections", "max-subscriptions"}
	return cmp.Or(
		given.Exclude(serverFlag, slices.Concat([]string{"nats-config", "unsafe-sync"}, bounds, byFlags),
			"one is for an external NATS, the other for the embedded one"),
		given.Exclude("nats-config", append([]string{"tls-cert", "tls-key", "tls-ca"}, byFlags...),
			"the NATS configuration sets the addresses, the data directory, TLS and the logins"),
		given.Exclude("nats-config", bounds, "the NATS configuration has max_connections and max_subscriptions"),
		given.Require("cluster-listen", []string{"routes"}, "the other members connect to this one too"),
		given.Require("cluster-listen", []string{"cluster-tls"}, "it is for the members of a cluster"),
		given.Require("routes", []string{"cluster-listen"}, "a member connects to the others"),
		given.CheckFiles("nats-config", "auth"),
	)
}

func (e *embeddedNATS) apply(cfg *server.Config) error {
	cfg.Embedded = e.config
	if e.config.ConfigFile != "" {
		cfg.Embedded.Listen, cfg.Embedded.DataDir = "", "" // the file sets both
	}
	return nil
}

// logins returns the file that says who may log in to the server, empty for none.
func (e *embeddedNATS) logins() string { return cmp.Or(e.config.AuthFile, e.config.ConfigFile) }

// natsFiles names the files that the embedded NATS server can read again, empty for none.
func natsFiles(cfg *server.Config) string {
	if cfg.NATS != nil {
		return ""
	}
	files := []string{cfg.Embedded.ConfigFile, cfg.Embedded.AuthFile}
	for _, tls := range []embedded.TLSFiles{cfg.Embedded.TLS, cfg.Embedded.ClusterTLS} {
		files = append(files, tls.Cert, tls.Key, tls.CA)
	}
	return strings.Join(slices.DeleteFunc(files, func(file string) bool { return file == "" }), ", ")
}
