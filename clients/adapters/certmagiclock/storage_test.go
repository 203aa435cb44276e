package certmagiclock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/holdfast-io/holdfast/clients/adapters/certmagiclock"
	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// domain is what certificates are for, and name is what certmagic locks for it.
const domain, name = "example.com", "issue_cert_example.com"

// obtain is an [adaptertest.Host]: the work is that of an issuer.
func obtain(ctx context.Context, c *holdfast.Client, _ time.Duration, work func(context.Context)) error {
	dir, err := os.MkdirTemp("", "certmagiclock-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	storage := certmagiclock.New(&certmagic.FileStorage{Path: dir}, c, "test/")
	return config(storage, func() error {
		work(storage.Context(name))
		return nil
	}).ObtainCertSync(ctx, domain)
}

// config returns a configuration whose issuer signs by itself, after issue.
func config(s certmagic.Storage, issue func() error) *certmagic.Config {
	var c *certmagic.Config
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return c, nil },
	})
	c = certmagic.New(cache, certmagic.Config{Storage: s, Issuers: []certmagic.Issuer{issuer(issue)}})
	return c
}

type issuer func() error

func (issuer) IssuerKey() string { return "test" }

func (i issuer) Issue(_ context.Context, r *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	if err := i(); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: r.DNSNames, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, cert, authority, r.PublicKey, key)
	return &certmagic.IssuedCertificate{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Metadata: "none",
	}, err
}

func TestFaults(t *testing.T) { adaptertest.Faults(t) }

// Processes that need the same certificate at once ask for it once.
func TestObtainTogether(t *testing.T) {
	t.Parallel()
	node, dir := adaptertest.Node(t), t.TempDir()
	var issued atomic.Int32
	ends := make(chan error, 3)
	for range cap(ends) {
		storage := certmagiclock.New(&certmagic.FileStorage{Path: dir}, adaptertest.NewClient(t, node), "certs/")
		c := config(storage, func() error {
			issued.Add(1)
			return nil
		})
		go func() { ends <- c.ObtainCertSync(t.Context(), domain) }()
	}
	for range cap(ends) {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if n := issued.Load(); n != 1 {
		t.Errorf("issued %d times", n)
	}
}

// A lock is tried, and the loss is an error of the renewal and of the unlock.
func TestLock(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	c := adaptertest.NewClient(t, node)
	mine := certmagiclock.New(nil, c, "certs/")
	others := certmagiclock.New(nil, adaptertest.NewClient(t, node), "certs/")
	if err := mine.RenewLockLease(t.Context(), name, time.Minute); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("renewal before: %v, want ErrNotHeld", err)
	}
	if ok, err := mine.TryLock(t.Context(), name); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := others.TryLock(t.Context(), name); ok || err != nil {
		t.Errorf("while it is locked: %t, %v", ok, err)
	}
	if err := mine.RenewLockLease(t.Context(), name, time.Minute); err != nil {
		t.Error(err)
	}
	claim, _ := holdfast.ClaimFromContext(mine.Context(name))
	if err := c.Break(t.Context(), claim.Resource, claim.Token, "a test"); err != nil {
		t.Fatal(err)
	}
	<-mine.Context(name).Done()
	if err := mine.RenewLockLease(t.Context(), name, time.Minute); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("renewal behind a loss: %v, want ErrLost", err)
	}
	if err := mine.Unlock(t.Context(), name); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("unlock behind a loss: %v, want ErrLost", err)
	}
	if err := mine.Unlock(t.Context(), name); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("unlock twice: %v, want ErrNotHeld", err)
	}
}
