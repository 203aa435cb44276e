package serve

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// tls is the certificates of the embedded NATS server. With an external one they are those of the node as a client.
type tls struct {
	files embedded.TLSFiles
	// cluster has the certificate for other members, its key, and their authority; nil: they are those for clients.
	cluster []string
}

func (t *tls) add(f *pflag.FlagSet) {
	f.StringVar(&t.files.Cert, "tls-cert", "",
		"`FILE` with the certificate of the embedded NATS; with --server, of this client")
	f.StringVar(&t.files.Key, "tls-key", "", "`FILE` with its private key")
	f.StringVar(&t.files.CA, "tls-ca", "", "`FILE` with the certificate authorities to trust")
	f.BoolVar(&t.files.Verify, "tls-verify", false, "require a certificate of --tls-ca from clients")
	f.StringSliceVar(&t.cluster, "cluster-tls", nil, "`CERT,KEY,CA` for the other members: the files with "+
		"the certificate, its key, and the authority of members: what it signs can become one (default those above)")
}

func (t *tls) check(given *settings.Settings) error {
	if given.Has("tls-verify") && !given.Has("tls-ca") {
		return exit.Usagef("%s needs --tls-ca: the authority that signs the certificates of clients",
			given.Given["tls-verify"])
	}
	if !given.Has(serverFlag) {
		err := given.Require("tls-cert", []string{"tls-verify", "tls-ca"},
			"the embedded NATS needs a certificate of its own for TLS")
		if err != nil {
			return err
		}
	}
	return cmp.Or(
		given.Together("a certificate and its key belong together", "tls-cert", "tls-key"),
		given.CheckFiles("tls-ca", "tls-cert", "tls-key"),
		given.CheckFileList("cluster-tls", t.cluster, "certificate", "key", "authority"),
	)
}

func (t *tls) apply(cfg *server.Config) error {
	cfg.Embedded.TLS = t.files
	if t.cluster != nil {
		cfg.Embedded.ClusterTLS = embedded.TLSFiles{Cert: t.cluster[0], Key: t.cluster[1], CA: t.cluster[2]}
	}
	return nil
}
