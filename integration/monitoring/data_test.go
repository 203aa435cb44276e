package monitoring_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// job is what nodes are called in Prometheus.
const job = "holdfast"

// What is shipped has data on nodes that a real Prometheus scrapes: the alerts, and the dashboard with classic
// histograms and with native ones. Only heatmaps need native ones.
func TestMonitoringHasData(t *testing.T) {
	t.Parallel()
	file := stand.Value(filepath.Abs(rules))(t)
	node, application := busy(t), guarded(t)
	targets := map[string][]string{job: {node}, "application": {application}}
	classic := startPrometheus(t, scraping{targets: targets, rules: file})
	native := startPrometheus(t, scraping{targets: targets, native: true})
	classic.wantRules()
	d := readDashboard(t)
	for _, panel := range d.Panels {
		native.wantPanel(panel, node)
		if panel.Type != "heatmap" {
			classic.wantPanel(panel, node)
		}
	}
	classic.wantSelection(d, "job", job)
	classic.wantSelection(d, "instance", node)
}

// busy starts a node whose clients wait for one another and exceed its rate, so that each of its metrics has a value.
// It returns where it is scraped.
func busy(t *testing.T) (address string) {
	t.Helper()
	node, url := withTenant(t, "--max-rate", "100")
	for i := range 8 {
		lock(t, url, "holdfast", fmt.Sprint("client-", i))
	}
	lock(t, url, "holdfast.tenant.ORDERS", "client")
	return node.HTTP()
}

// lock acquires, extends and releases one resource again and again, whatever the answers are, until the test ends.
func lock(t *testing.T, url, prefix, owner string) {
	t.Helper()
	nc := stand.Dial(t, url)
	tick := time.NewTicker(20 * time.Millisecond) // the node is not alone on its machine
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			for _, operation := range []string{"acquire", "extend", "release"} {
				request := fmt.Sprintf(`{"owner":%q,"ttl_ms":10000,"wait_ms":1000}`, owner)
				if operation == "release" {
					request = fmt.Sprintf(`{"owner":%q}`, owner)
				}
				_, _ = nc.Request(prefix+"."+operation+".orders", []byte(request), time.Second)
				select {
				case <-t.Context().Done():
					return
				case <-tick.C:
				}
			}
		}
	}()
	t.Cleanup(func() { <-ended })
}

// guarded serves the metrics of an application whose guard has refused a write, as docs/guards.md shows it.
func guarded(t *testing.T) (address string) {
	t.Helper()
	checks := client.NewCounterVec(client.CounterOpts{
		Name: "holdfast_fence_checks_total", Help: "The claims that guards have checked.",
	}, []string{"guard", "result"})
	registry := client.NewRegistry()
	registry.MustRegister(checks)
	orders := stand.Value(fencefile.Open(t.TempDir(), fencefile.WithObserver(func(v fence.Verdict) {
		checks.WithLabelValues(v.Guard, v.Result.String()).Inc()
	})))(t)
	t.Cleanup(func() { _ = orders.Close() })
	for _, token := range []fence.Token{34, 33} {
		_ = orders.Raise(t.Context(), fence.Claim{Resource: "orders.42", Token: token})
	}
	return serve(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}

// serve serves metrics until the test ends, and returns the host and port.
func serve(t *testing.T, metrics http.Handler) (address string) {
	t.Helper()
	server := httptest.NewServer(metrics)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
