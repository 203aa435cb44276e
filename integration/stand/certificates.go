package stand

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for a test. Files are NAME.pem and NAME-key.pem in its directory.
type Authority struct {
	tb          testing.TB
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	issued      int64
}

// NewAuthority makes an authority, whose own certificate is NAME.pem.
func NewAuthority(tb testing.TB, dir, name string) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, dir: dir, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.issued = 1
	a.key = a.sign(name, a.certificate, nil)
	return a
}

// Issue writes a certificate for the addresses of this host, and its key, in the place of earlier ones of that name. It
// is for servers and clients, unless change says otherwise.
func (a *Authority) Issue(name string, change ...func(*x509.Certificate)) {
	a.tb.Helper()
	a.issued++
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(a.issued), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: OwnAddresses(a.tb), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, f := range change {
		f(certificate)
	}
	a.sign(name, certificate, a.key)
}

// sign writes a certificate and its key, signed with by, or with its own key if by is nil.
func (a *Authority) sign(name string, certificate *x509.Certificate, by *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.tb.Fatal(err)
	}
	if by == nil {
		by = key
	}
	public, err := x509.CreateCertificate(rand.Reader, certificate, a.certificate, &key.PublicKey, by)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, err2); err != nil {
		a.tb.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", public)
	a.write(name+"-key.pem", "PRIVATE KEY", private)
	return key
}

func (a *Authority) write(name, kind string, data []byte) {
	a.tb.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
	if err := os.WriteFile(filepath.Join(a.dir, name), text, 0o600); err != nil {
		a.tb.Fatal(err)
	}
}

// OwnAddresses returns the addresses of this machine.
func OwnAddresses(tb testing.TB) (ips []net.IP) {
	tb.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		tb.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			ips = append(ips, n.IP)
		}
	}
	return ips
}
