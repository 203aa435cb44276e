package monitoring_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// prometheus is a real Prometheus server.
type prometheus struct {
	*testing.T
	url string
}

// scraping configures a Prometheus server.
type scraping struct {
	// targets are the hosts and ports of each job.
	targets map[string][]string
	// rules is a file with alerts; empty: there are none.
	rules string
	// native lets it scrape native histograms, and no classic ones.
	native bool
}

// config returns the configuration. JSON is YAML.
func (s scraping) config(t *testing.T) []byte {
	t.Helper()
	type object = map[string]any
	var jobs []object
	for job, targets := range s.targets {
		jobs = append(jobs, object{"job_name": job, "static_configs": []object{{"targets": targets}}})
	}
	config := object{"global": object{"scrape_interval": "500ms", "evaluation_interval": "500ms"},
		"scrape_configs": jobs}
	if s.rules != "" {
		config["rule_files"] = []string{s.rules}
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// startPrometheus starts a server, which ends with the test.
func startPrometheus(t *testing.T, s scraping) *prometheus {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	write(t, config, s.config(t))
	args := []string{"--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data")}
	if s.native {
		args = append(args, "--enable-feature", "native-histograms")
	}
	server := fencetest.Server{
		Program: "prometheus", Install: "make servers",
		Command: func(addr string) *exec.Cmd {
			return exec.Command("prometheus", append(args, "--web.listen-address", addr)...)
		},
		Ready: func(ctx context.Context, addr string) error {
			_, err := get(ctx, "http://"+addr+"/-/ready")
			return err
		},
	}.Start(t)
	return &prometheus{t, "http://" + server.Addr}
}

// ask reads the data of an answer of its API.
func (p *prometheus) ask(path string, parameters url.Values, data any) {
	p.Helper()
	body, err := get(p.Context(), p.url+"/api/v1/"+path+"?"+parameters.Encode())
	if err != nil {
		p.Fatal(err)
	}
	if err := json.Unmarshal(body, &struct{ Data any }{data}); err != nil {
		p.Fatalf("%s: %v: %s", path, err, body)
	}
}

// hasData reports whether a query has a value that is a number, or a native histogram.
func (p *prometheus) hasData(query string) bool {
	p.Helper()
	var answer struct {
		Result []struct {
			Value     []any // a time and a text
			Histogram []any
		}
	}
	p.ask("query", url.Values{"query": {query}}, &answer)
	for _, r := range answer.Result {
		if len(r.Histogram) > 0 || len(r.Value) == 2 && r.Value[1] != "NaN" {
			return true
		}
	}
	return false
}

// get returns the body of a page.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, r.Status, body)
	}
	return body, err
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
