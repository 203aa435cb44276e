package web_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/web"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// start starts a server that ends with the test.
func start(t *testing.T, cfg web.Config, handler http.Handler) *web.Server {
	t.Helper()
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := web.Start(cfg, handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// get returns the body of an answer with status 200.
func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v, %s", url, r.Status, err, body)
	}
	return string(body)
}

func TestAddress(t *testing.T) {
	t.Parallel()
	s := start(t, web.Config{Listen: "127.0.0.1:0"}, hello)
	if got := get(t, http.DefaultClient, s.URL()); got != "hello" {
		t.Errorf("got %q", got)
	}
	taken := strings.TrimPrefix(s.URL(), "http://")
	elsewhere := start(t, web.Config{Listen: taken, Elsewhere: true}, hello)
	if elsewhere.URL() == s.URL() || get(t, http.DefaultClient, elsewhere.URL()) != "hello" {
		t.Errorf("another port than %s: %s", s.URL(), elsewhere.URL())
	}
	start(t, web.Config{Listen: "0.0.0.0:0", Insecure: true}, hello)
	for _, test := range []struct {
		cfg    web.Config
		config bool
		says   string
	}{
		{web.Config{Flag: "--http", Listen: taken}, false, "another program listens there; choose another address with --http"},
		{web.Config{Listen: "here"}, true, `"here" is not HOST:PORT`},
		{web.Config{Listen: "127.0.0.1:99999"}, true, "no port from 1 to 65535"},
		{web.Config{Listen: "127.0.0.1:http"}, true, "no port from 1 to 65535"},
		{web.Config{Listen: "0.0.0.0:0"}, true,
			"open to other hosts without TLS; listen on 127.0.0.1, .* --http-insecure"},
		{web.Config{Listen: ":0"}, true, "open to other hosts"},
		{web.Config{Listen: "[::]:0"}, true, "open to other hosts"},
		{web.Config{Listen: "127.0.0.1:0", Cert: "missing", Key: "missing"}, true, `the certificate "missing"`},
	} {
		_, err := web.Start(test.cfg, hello)
		says, _, _ := strings.Cut(test.says, ".*")
		if err == nil || errors.Is(err, web.ErrConfig) != test.config || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", test.cfg, err, test.says)
		}
	}
}

func TestMeets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"127.0.0.1:1", "127.0.0.1:1", true},
		{"127.0.0.1:1", "127.0.0.1:2", false},
		{"10.0.0.1:1", "10.0.0.2:1", false},
		{"localhost:1", "127.0.0.1:1", true},
		{"0.0.0.0:1", "10.0.0.2:1", true},
		{"10.0.0.1:1", "[::]:1", true},
		{":1", "10.0.0.1:1", true},
		{"127.0.0.1:0", "127.0.0.1:0", false},
		{"127.0.0.1:1", "here", false},
		{"", "127.0.0.1:1", false},
	} {
		if got := (web.Config{Listen: test.a}).Meets(web.Config{Listen: test.b}); got != test.want {
			t.Errorf("%q and %q: %v", test.a, test.b, got)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t)
	s := start(t, web.Config{Listen: "0.0.0.0:0", Cert: cert, Key: key}, hello)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool},
		DisableKeepAlives: true}}
	if got := get(t, client, "https://127.0.0.1:"+port); got != "hello" {
		t.Errorf("got %q", got)
	}
	if r, err := http.Get("http://127.0.0.1:" + port); err == nil {
		if r.Body.Close(); r.StatusCode == http.StatusOK {
			t.Error("it is served without TLS, too")
		}
	}
}

// A connection on which nothing is sent does not keep the server from stopping.
func TestCloseWithASilentConnection(t *testing.T) {
	t.Parallel()
	s := start(t, web.Config{Listen: "127.0.0.1:0"}, hello)
	silent := dial(t, s, 1)
	get(t, http.DefaultClient, s.URL()) // connections are accepted in their order: the server has the silent one
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ended); err != nil {
		t.Error(err)
	}
	if n, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection is open: %d, %v", n, err)
	}
}

// dial connects to the server from 127.0.0.n for as long as the test takes.
func dial(t *testing.T, s *web.Server, n int) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(n))}}
	nc, err := dialer.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// Of more connections than are served at a time, the others wait until one is closed.
// All of them have sent a request, and each answer lets one more be served: without the bound they overtake it.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const bound, clients = 64, 4 * 64
	arrived, release := make(chan int64, clients), make(chan struct{})
	var served atomic.Int64
	s := start(t, web.Config{Listen: "127.0.0.1:0"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- served.Add(1)
		<-release
		served.Add(-1)
	}))
	answers := make(chan error, clients)
	for i := range clients {
		nc := dial(t, s, i%8+1)
		if _, err := fmt.Fprint(nc, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		go func() {
			r, err := http.ReadResponse(bufio.NewReader(nc), nil)
			if err == nil {
				err = r.Body.Close()
			}
			answers <- err
		}()
	}
	var most int64
	for i := range clients {
		if i >= bound {
			release <- struct{}{}
		}
		most = max(most, <-arrived)
	}
	close(release)
	if most != bound {
		t.Errorf("%d were served at a time, want %d", most, bound)
	}
	for range clients {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// An address has three quarters of the connections, and leaves the others to the checks of other addresses.
func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	t.Parallel()
	const bound = 48
	arrived, release := make(chan struct{}, 3*bound), make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/", hello)
	mux.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	s := start(t, web.Config{Listen: "127.0.0.1:0"}, mux)
	ask := func(nc net.Conn, path string) (*http.Response, error) {
		if _, err := fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path); err != nil {
			return nil, err
		}
		if err := nc.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return nil, err
		}
		return http.ReadResponse(bufio.NewReader(nc), nil)
	}
	refused := make(chan struct{}, 3*bound)
	for range 3 * bound {
		nc := dial(t, s, 2)
		go func() {
			if r, err := ask(nc, "/slow"); err != nil {
				refused <- struct{}{}
			} else {
				_ = r.Body.Close()
			}
		}()
	}
	for range bound {
		<-arrived
	}
	for range 2 * bound {
		<-refused
	}
	r, err := ask(dial(t, s, 3), "/")
	if err != nil {
		t.Fatalf("another address is kept out: %v", err)
	}
	_ = r.Body.Close()
	close(release)
}

// What is for this host only has no other name, which a DNS server could lead here.
func TestForeignHost(t *testing.T) {
	t.Parallel()
	for listen, isLocal := range map[string]bool{"127.0.0.1:0": true, "0.0.0.0:0": false} {
		s := start(t, web.Config{Listen: listen, Insecure: true}, hello)
		_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		for host, code := range map[string]int{
			"127.0.0.1:8422": 200, "[::1]:8422": 200, "[::1]": 200, "localhost": 200, "example.com": 421,
			"localhost.example.com:8422": 421,
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Host = host; !isLocal {
				code = http.StatusOK
			}
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _ = got.Body.Close(); got.StatusCode != code {
				t.Errorf("%s at %s: %d, want %d", host, listen, got.StatusCode, code)
			}
		}
	}
}

// certificate returns the files of a certificate for 127.0.0.1 and its key, and who trusts it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return cert, key, pool
}
