//go:build linux

package chart_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// The commands and settings that the chart renders form a cluster, without and with logins and TLS, which the probes find
// ready, and the backup of docs/kubernetes.md is made of it. Each pod has a loopback address instead of its own, and its
// names and folders are replaced by those of this machine.
func TestNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("this test starts three nodes")
	}
	program, secrets := filepath.Join(t.TempDir(), "holdfast"), t.TempDir()
	run(t, "go", "build", "-C", "../..", "-buildvcs=false", "-o", program, "./cmd/holdfast")
	issue(t, secrets)
	must(t, os.WriteFile(filepath.Join(secrets, "auth.conf"), []byte(logins), 0o600))
	login := []string{"--server", "tls://" + address(0) + ":4222", "--user", "holdfast", "--password", "secret", "--tls-ca",
		secrets + "/ca.crt"}
	for name, c := range map[string]struct {
		values string
		client []string
		page   string
	}{
		"Open":     {open, []string{"--server", "nats://" + address(0) + ":4222"}, ""},
		"LoggedIn": {loggedIn, login, ""},
		"All":      {all, login, "https://" + address(0) + ":8422/"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.values, "environmentSecret") {
				t.Setenv("HOLDFAST_PASSWORD", "secret")
			}
			runNodes(t, program, secrets, c.values, c.client)
			if c.page != "" {
				get(t, c.page, secrets)
			}
			if name == "LoggedIn" {
				backUp(t, program, secrets)
			}
		})
	}
}

// logins has the account of the nodes and that of a tenant.
const logins = `accounts {
  HOLDFAST { jetstream: enabled, users: [{ user: holdfast, password: secret }] }
  ORDERS { users: [{ user: orders, password: orders }] }
}
`

func runNodes(t *testing.T, program, secrets, values string, client []string) {
	t.Helper()
	r, err := render(t, values)
	must(t, err)
	names := []string{}
	for n := range int(*r.nodes.Spec.Replicas) {
		names = append(names, fmt.Sprintf("hf-%d.hf-nodes:", n), address(n)+":")
	}
	container := r.nodes.Spec.Template.Spec.Containers[0]
	var ready []func() bool
	for n := range int(*r.nodes.Spec.Replicas) {
		dir := t.TempDir()
		here := strings.NewReplacer(append(names, "0.0.0.0:", address(n)+":", "/data", dir, "/etc/holdfast/settings", dir,
			"/etc/holdfast/auth", secrets, "/etc/holdfast/tls", secrets, "/etc/holdfast/members", secrets,
			"/etc/holdfast/http", secrets, "$(POD_NAME)", fmt.Sprintf("hf-%d", n))...)
		for name, text := range r.settings.Data {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(here.Replace(text)), 0o600))
		}
		var args []string
		for _, a := range container.Args {
			args = append(args, here.Replace(a))
		}
		ready = append(ready, start(t, program, args))
	}
	for n, isReady := range ready {
		if !isReady() {
			t.Fatalf("node %d is not ready", n)
		}
	}
	for n := range ready {
		for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
			get(t, "http://"+address(n)+":8423"+probe.HTTPGet.Path, secrets)
		}
		args := append([]string{"acquire", fmt.Sprint("orders.", n), "--owner", "me", "--ttl", "1m"}, client...)
		for i := range args {
			args[i] = strings.Replace(args[i], address(0), address(n), 1)
		}
		out := run(t, program, args...)
		if !strings.Contains(out, "token 1") {
			t.Errorf("node %d: %s", n, out)
		}
	}
}

// get returns when the answer has the status 200: a check has a limit, which a busy machine may miss.
func get(t *testing.T, url, secrets string) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(read(t, filepath.Join(secrets, "ca.crt"))))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		answer, err := client.Get(url)
		must(t, err)
		must(t, answer.Body.Close())
		if answer.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s", url, answer.Status)
		}
	}
}

// backUp runs the command of the schedule that docs/kubernetes.md shows, with the variables of its environment.
func backUp(t *testing.T, program, secrets string) {
	t.Helper()
	job := decode[batchv1.CronJob](t, "docs/kubernetes.md", schedule(t)).Spec.JobTemplate.Spec.Template.Spec
	here := strings.NewReplacer("tls://hf:", "tls://"+address(0)+":", "/etc/holdfast/tls", secrets, "/backup", t.TempDir())
	var args []string
	for _, a := range job.Containers[0].Args {
		args = append(args, here.Replace(a))
	}
	for _, e := range job.Containers[0].Env {
		if e.ValueFrom != nil {
			e.Value = "secret"
		}
		t.Setenv(e.Name, here.Replace(e.Value))
	}
	if out := run(t, program, args...); !strings.Contains(out, "3 leases held") {
		t.Errorf("the backup: %s", out)
	}
}

// issue writes a certificate of the nodes that is its own authority, as the Secret of a chart has it.
func issue(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for n := range 3 {
		certificate.IPAddresses = append(certificate.IPAddresses, net.ParseIP(address(n)))
	}
	public, err := x509.CreateCertificate(rand.Reader, certificate, certificate, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: public}, "ca.crt": {Type: "CERTIFICATE", Bytes: public},
		"tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}

// address is that of a node; nothing else listens on it.
func address(n int) string { return fmt.Sprintf("127.46.%d.%d", os.Getpid()%256, n+2) }

// start starts a node, which is killed at the end of the test. isReady waits until it is ready or has ended.
func start(t *testing.T, program string, args []string) (isReady func() bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%q:\n%s", args, &log)
		}
	})
	return func() bool {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Holdfast is ready") {
				return true
			}
		}
		return false
	}
}

// run returns the output of a command.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
