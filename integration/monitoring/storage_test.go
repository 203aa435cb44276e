package monitoring_test

import (
	"crypto/x509"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// endingCertificate replaces the certificate for clients by one that ends in three days.
func endingCertificate(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	dir := t.TempDir()
	ca := stand.NewAuthority(t, dir, "ca")
	lasts := func(d time.Duration) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.NotAfter = time.Now().Add(d) }
	}
	ca.Issue("node", lasts(90*24*time.Hour))
	node := stand.StartAlone(t, "--tls-cert", filepath.Join(dir, "node.pem"), "--tls-key",
		filepath.Join(dir, "node-key.pem"))
	return []string{node.HTTP()}, []func(){func() {
		ca.Issue("node", lasts(3*24*time.Hour))
		node.Reload()
	}}
}
