package tenants

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// A node reads its tenants file again on SIGHUP: tenants come and go, limits change, and a file with a mistake changes
// nothing. The metrics have the tenants of the file.
func TestReload(t *testing.T) {
	t.Parallel()
	m := serveTenants(t, first+": {max-held: 1}\n")
	file := m.Args[len(m.Args)-1]
	a, b := dial(t, m.URL, first), dial(t, m.URL, second)
	held := func(c *client, key string) messages.Status {
		return c.ask(messages.OpAcquire, key, `{"owner":"o","ttl_ms":600000}`).GetStatus()
	}
	reload := func(content string) {
		t.Helper()
		err := os.WriteFile(file, []byte(content), 0o600)
		if err == nil {
			err = syscall.Kill(m.Pid(), syscall.SIGHUP)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if a1, a2 := held(a, "k1"), held(a, "k2"); a1 != messages.Status_GRANTED || a2 != messages.Status_OVERLOADED {
		t.Fatalf("got %s and %s, want one lease", a1, a2)
	}
	if _, err := b.Request("holdfast.info", nil, patience); err != nats.ErrNoResponders { //nolint:errorlint // it is returned as it is
		t.Errorf("an account that the file does not name: %v, want no responders", err)
	}
	reload(first + ": {max-held: x}\n" + second + ": {}\n")
	m.WaitLog(`TENANT-ALPHA: max-held: a whole number, got \"x\"`)
	if held(a, "k2") != messages.Status_OVERLOADED {
		t.Error("a file with a mistake has changed a limit")
	}
	reload(first + ": {max-held: 2}\n" + second + ": {}\n")
	stand.Eventually(t, "the limit changes", func() bool { return held(a, "k2") == messages.Status_GRANTED })
	stand.Eventually(t, "a tenant is added", func() bool {
		_, err := b.Request("holdfast.info", nil, patience)
		return err == nil
	})
	if held(b, "k1") != messages.Status_GRANTED {
		t.Error("a new tenant gets no lease")
	}
	metrics := scrape(t, m)
	for _, want := range []string{
		fmt.Sprintf("holdfast_tenant_leases{tenant=%q} 2", first),
		fmt.Sprintf("holdfast_tenant_leases{tenant=%q} 1", second),
		fmt.Sprintf("holdfast_tenant_waiters{tenant=%q} 0", first),
		fmt.Sprintf("holdfast_tenant_requests_total{tenant=%q} ", first),
		fmt.Sprintf("holdfast_tenant_refused_total{tenant=%q} 0", second),
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	reload(second + ": {}\n")
	stand.Eventually(t, "a tenant is removed", func() bool {
		_, err := a.Request("holdfast.info", nil, patience)
		return err == nats.ErrNoResponders //nolint:errorlint // it is returned as it is
	})
	if metrics := scrape(t, m); strings.Contains(metrics, first) {
		t.Error("the metrics have a tenant that is removed")
	}
	m.Stop()
}

func scrape(t *testing.T, m *stand.Member) string {
	t.Helper()
	_, body := stand.Fetch(t, "http://"+m.HTTP()+"/metrics")
	return body
}
