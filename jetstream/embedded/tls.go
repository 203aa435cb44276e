package embedded

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TLSFiles are the files of a certificate and of the authorities that the other side needs, in PEM. The zero value is
// no TLS.
type TLSFiles struct {
	Cert, Key string
	// CA has the authorities that sign the certificates of the other side. Empty: those of the system.
	CA string
	// Verify requires a certificate from clients. Members of a cluster always require one.
	Verify bool
}

// given reports whether there is a certificate.
func (f TLSFiles) given() bool { return f.Cert != "" }

// config reads the files, as NATS does, after checks of what would fail at the first connection only. The certificate
// has to allow each of the uses.
func (f TLSFiles) config(uses ...x509.ExtKeyUsage) (*tls.Config, error) {
	if err := f.checkCA(); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("%w: the certificate %s with the key %s: %w", ErrConfig, f.Cert, f.Key, err)
	}
	if err := checkLeaf(f.Cert, pair.Leaf, time.Now(), uses); err != nil {
		return nil, err
	}
	cfg, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: f.Cert, KeyFile: f.Key,
		CaFile: f.CA, Verify: f.Verify}) // mutant: CertificatesNotRequired
	if err != nil {
		return nil, fmt.Errorf("%w: TLS with %s: %w", ErrConfig, f.Cert, err)
	}
	return cfg, nil
}

// checkCA refuses a file without a certificate, and clients that have to be verified by no authority in particular: any
// certificate of a public authority would do.
func (f TLSFiles) checkCA() error {
	if f.CA == "" {
		if f.Verify {
			return fmt.Errorf("%w: certificates of clients are verified by an authority; give --tls-ca", ErrConfig)
		}
		return nil
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return fmt.Errorf("%w: the authorities: %w", ErrConfig, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf(
			"%w: the authorities %s: no certificate in PEM; the file begins with -----BEGIN CERTIFICATE-----",
			ErrConfig, f.CA)
	}
	return nil
}

// checkLeaf refuses a certificate that the other side would refuse at this time.
func checkLeaf(path string, leaf *x509.Certificate, now time.Time, uses []x509.ExtKeyUsage) error {
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%w: %s expired on %s; renew it", ErrCertificate, path,
			leaf.NotAfter.UTC().Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%w: %s is valid from %s; check the clock of this host", ErrCertificate, path,
			leaf.NotBefore.UTC().Format(time.DateTime))
	case len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0:
		return fmt.Errorf(
			"%w: the certificate %s names no host, so that clients refuse it; sign one with a subject alternative name",
			ErrConfig, path)
	}
	for _, use := range uses {
		if !allows(leaf, use) {
			return fmt.Errorf("%w: the certificate %s is not for %s; sign one with this extended key usage", ErrConfig,
				path, use)
		}
	}
	return nil
}

// allows reports whether the certificate may be used so. Without a list of uses it allows all.
func allows(leaf *x509.Certificate, use x509.ExtKeyUsage) bool {
	return len(leaf.ExtKeyUsage) == 0 && len(leaf.UnknownExtKeyUsage) == 0 ||
		slices.Contains(leaf.ExtKeyUsage, use) || slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageAny)
}

// serveTLS has clients connect with TLS if there is a certificate for that.
func (c Config) serveTLS(opts *server.Options) (err error) {
	if !c.TLS.given() {
		return nil
	}
	opts.TLSConfig, err = c.TLS.config(x509.ExtKeyUsageServerAuth)
	opts.TLS, opts.TLSVerify = true, c.TLS.Verify
	return err
}

// hasRouteTLS reports whether the members of the cluster verify one another.
func (c Config) hasRouteTLS() bool { return c.ClusterTLS.given() || c.TLS.given() }

// routeTLS has the members of a cluster verify one another. Without certificates of an authority of their own they use
// those for clients, and then a certificate has to name a host of the routes: a client could otherwise become a member.
func (c Config) routeTLS(opts *server.Options) error {
	files := c.ClusterTLS
	if !files.given() {
		files = c.TLS
	}
	cfg, err := files.mutual()
	if err != nil || cfg == nil {
		return err
	}
	opts.Cluster.TLSConfig = cfg
	if c.ClusterTLS.given() {
		return nil
	}
	known := &knownMembers{}
	for _, route := range opts.Routes {
		known.hosts = append(known.hosts, route.Hostname())
	}
	if !known.admits(cfg.Certificates[0].Leaf) {
		return fmt.Errorf(
			"%w: the certificate %s names no host of --routes, so that the other members refuse this one; "+
				"sign one for its host there, "+
				"or give the members an authority of their own with --cluster-tls", ErrConfig, files.Cert)
	}
	opts.CustomRouterAuthentication = known // mutant: ClientBecomesAMember
	return nil
}

// mutual returns the settings with which servers verify one another, nil without a certificate.
func (f TLSFiles) mutual() (*tls.Config, error) {
	if !f.given() {
		return nil, nil
	}
	if f.CA == "" {
		return nil,
			fmt.Errorf(
				"%w: the members of a cluster verify one another by an authority; give --tls-ca, or --cluster-tls",
				ErrConfig)
	}
	cfg, err := f.config(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	cfg.ClientAuth, cfg.RootCAs = tls.RequireAndVerifyClientCert, cfg.ClientCAs
	return cfg, nil
}

// knownMembers admits the members whose certificates name a host of the routes. NATS has verified the certificate. The
// check of NATS itself, verify_cert_and_check_known_urls, knows no addresses.
type knownMembers struct{ hosts []string }

// Check implements [server.Authentication].
func (k *knownMembers) Check(c server.ClientAuthentication) bool {
	state := c.GetTLSConnectionState()
	return state != nil && len(state.PeerCertificates) > 0 && k.admits(state.PeerCertificates[0])
}

func (k *knownMembers) admits(leaf *x509.Certificate) bool {
	return allows(leaf, x509.ExtKeyUsageServerAuth) &&
		slices.ContainsFunc(k.hosts, func(host string) bool { return leaf.VerifyHostname(host) == nil })
}

// ownTLS returns settings for a server of this process that connects to another one here, which has the same
// certificate.
func ownTLS(cfg *tls.Config) *tls.Config {
	if cfg == nil {
		return nil
	}
	own := cfg.Clone()
	own.InsecureSkipVerify = true // the certificate names the host for others, and not the address that is used here
	own.VerifyConnection = func(state tls.ConnectionState) error {
		if slices.Equal(state.PeerCertificates[0].Raw, cfg.Certificates[0].Certificate[0]) {
			return nil
		}
		return errors.New("the certificate at this server's own address is not its own")
	}
	return own
}
