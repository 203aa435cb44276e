package natsconn_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

func TestConnect(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, jstest.GoodConfig+"\nauthorization { user: node, password: s3cret }")
	address := strings.TrimPrefix(s.ClientURL(), "nats://")
	t.Run("OK", func(t *testing.T) {
		t.Parallel()
		nc, err := natsconn.Dial(natsconn.Config{URL: "nats://node:s3cret@" + address, Name: "node-1"})
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if nc.Opts.Name != "node-1" || nc.Opts.ReconnectBufSize != -1 || nc.Opts.MaxReconnect != -1 {
			t.Errorf("options %+v", nc.Opts)
		}
	})
	for _, test := range []struct {
		name, url string
		words     []string
		secret    string
	}{
		{"WrongPassword", "nats://node:wr0ng@" + address, []string{address, "refuses these credentials"}, "wr0ng"},
		{"NoPassword", "nats://" + address, []string{"refuses these credentials"}, "-"},
		{"NobodyThere", "nats://node:s3cret@127.0.0.1:1,nats://127.0.0.1:2",
			[]string{"127.0.0.1:1", "127.0.0.1:2", "is a NATS server running"}, "s3cret"},
		{"Unreadable", "nats://node:s3cret@127.0.0.1:port", []string{"cannot be read"}, "s3cret"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := natsconn.Dial(natsconn.Config{URL: test.url, Log: jstest.Quiet()})
			jstest.WantError(t, err, natsconn.ErrConnect, test.words...)
			if test.secret != "-" && strings.Contains(err.Error(), test.secret) {
				t.Errorf("%q shows the password", err)
			}
		})
	}
	t.Run("MissingFiles", func(t *testing.T) {
		t.Parallel()
		none := filepath.Join(t.TempDir(), "none")
		for _, cfg := range []natsconn.Config{{Creds: none}, {NKey: none}, {CA: none}, {Cert: none, Key: none},
			{Cert: none}} {
			cfg.URL, cfg.Log = s.ClientURL(), jstest.Quiet()
			_, err := natsconn.Dial(cfg)
			jstest.WantError(t, err, natsconn.ErrConnect)
		}
	})
}

func TestConnectNKey(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := pair.Seed()
	public, _ := pair.PublicKey()
	file := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	s := jstest.MustStartFile(t, jstest.GoodConfig+fmt.Sprintf("\nauthorization { users: [ { nkey: %s } ] }", public))
	nc, err := natsconn.Dial(natsconn.Config{URL: s.ClientURL(), NKey: file, Log: jstest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestConnectTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustCertify(t, dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	s := jstest.MustStartFile(t, jstest.GoodConfig+
		fmt.Sprintf("\ntls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }",
			in("cert.pem"), in("key.pem"), in("ca.pem")))
	cfg := natsconn.Config{URL: s.ClientURL(), CA: in("ca.pem"), Cert: in("cert.pem"), Key: in("key.pem"),
		Log: jstest.Quiet()}
	nc, err := natsconn.Dial(cfg)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	for name, change := range map[string]func(*natsconn.Config){
		"WithoutCertificate": func(cfg *natsconn.Config) { cfg.Cert, cfg.Key = "", "" },
		"UnknownAuthority":   func(cfg *natsconn.Config) { cfg.CA = "" },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			change(&cfg)
			_, err := natsconn.Dial(cfg)
			jstest.WantError(t, err, natsconn.ErrConnect)
		})
	}
}

// mustCertify writes an authority and a certificate of its for 127.0.0.1, for both sides.
func mustCertify(tb testing.TB, dir string) {
	tb.Helper()
	write := func(name, kind string, data []byte) {
		file := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	ca, err3 := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	cert, err4 := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, authorityKey)
	der, err5 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		tb.Fatal(err)
	}
	write("ca.pem", "CERTIFICATE", ca)
	write("cert.pem", "CERTIFICATE", cert)
	write("key.pem", "PRIVATE KEY", der)
}

func TestConnectionComesBack(t *testing.T) {
	t.Parallel()
	s := jstest.MustStart(t)
	p := jstest.NewProxy(t, s.ClientURL())
	log := jstest.NewRecorder()
	nc, err := natsconn.Dial(natsconn.Config{URL: p.URL(), Name: "n", Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	b := jstest.MustOpen(t, nc, 1).Bucket(0)
	jstest.MustFill(t, b, 2)
	p.Cut()
	jstest.WaitFor(t, "the client notices", func() bool { return nc.Stats().Reconnects > 0 || !nc.IsConnected() })
	// An append goes on by itself, once there is a connection again.
	jstest.MustAppend(t, b, 2, jstest.Commit(1, 3, 10))
	jstest.WaitFor(t, "both are logged", func() bool {
		_, gone := log.Find("disconnected")
		_, back := log.Find("reconnected to NATS")
		return gone && back
	})

	s.Shutdown()
	jstest.WaitFor(t, "the client notices", func() bool { return !nc.IsConnected() })
	if err := nc.Publish("anything", nil); !errors.Is(err, nats.ErrReconnectBufExceeded) {
		t.Errorf("buffered a request that has ended: %v", err)
	}
}

// Messages whose headers cannot be read arrive without them, and do not fill the log.
func TestMalformedHeadersAreLoggedOnce(t *testing.T) {
	t.Parallel()
	s, log := jstest.MustStart(t), jstest.NewRecorder()
	nc, err := natsconn.Dial(natsconn.Config{URL: s.ClientURL(), Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	raw, err := net.Dial("tcp", strings.TrimPrefix(s.ClientURL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	const headers, messages = "NATS/1.0\r\nno colon\r\n\r\n", 50
	if _, err := fmt.Fprint(raw, `CONNECT {"headers":true}`+"\r\n",
		strings.Repeat(fmt.Sprintf("HPUB a %d %d\r\n%sx\r\n", len(headers), len(headers)+1, headers), messages)); err != nil {
		t.Fatal(err)
	}
	for range messages {
		if m, err := sub.NextMsg(time.Minute); err != nil || string(m.Data) != "x" || m.Header != nil {
			t.Fatalf("got %v, %v", m, err)
		}
	}
	jstest.WaitFor(t, "the first to be logged", func() bool { return log.Count("headers that cannot be read") > 0 })
	if n := log.Count("headers that cannot be read") + log.Count("NATS reports an error"); n != 1 {
		t.Errorf("%d lines, want one", n)
	}
}
