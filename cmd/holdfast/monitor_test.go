package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// http returns where a server serves HTTP, by what it has printed.
func (p *process) http(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`https?://[^/"]+`).FindString(p.out.WaitFor(t, p.done, "/metrics"))
}

// wantPage fails the test unless the answer has this status and begins with the text.
func wantPage(t *testing.T, url string, code int, text string) {
	t.Helper()
	if got, body := stand.Fetch(t, url); got != code || !strings.HasPrefix(body, text) {
		t.Errorf("%s: %d %q, want %d %q", url, got, body, code, text)
	}
}

// waitPage waits until the answer is this one, with status 200: a check has a limit, which a busy machine may miss.
func waitPage(t *testing.T, url, text string) {
	t.Helper()
	stand.Eventually(t, url+" is "+text, func() bool {
		code, body := stand.Fetch(t, url)
		return code == http.StatusOK && body == text
	})
}

// scrape returns the metrics of a server by their name.
func scrape(t *testing.T, url string) (text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	code, text := stand.Fetch(t, url+"/metrics")
	if code != http.StatusOK {
		t.Fatalf("metrics: %d %s", code, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families = stand.Value(parser.TextToMetricFamilies(strings.NewReader(text)))(t)
	return text, families
}

func TestPages(t *testing.T) {
	t.Parallel()
	p := serve(t)
	url := p.http(t)
	waitPage(t, url+"/livez", "ok")
	waitPage(t, url+"/readyz", "ok")
	waitPage(t, url+"/readyz?verbose",
		"[+]started ok\n[+]running ok\n[+]nats ok\n[+]announcements ok\n[+]commits ok\nreadyz check passed\n")
	wantPage(t, url+"/version", 200, `{"go":"go1.`)
	wantPage(t, url+"/debug/pprof/", 404, "")
	if r, err := http.Post(url+"/metrics", "", nil); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v, %v", r, err)
	} else {
		_ = r.Body.Close()
	}
}

// The metrics of a node that has done something are well formed, they are those of docs/metrics.md, and they count
// right.
func TestMetrics(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "2")
	url := p.http(t)
	p.holdfast(t, "acquire", "orders.1", "--owner", "a").want(t, 0, `token 1`)
	p.holdfast(t, "acquire", "orders.1", "--owner", "b").want(t, 3, `held`)
	waiting := start(t, "acquire", "orders.1", "--owner", "b", "--server", p.url, "--wait", "1m")
	stand.Eventually(t, "a request waits", func() bool {
		_, m := scrape(t, url)
		return m["holdfast_waiters"].GetMetric()[0].GetGauge().GetValue() == 1 &&
			m["holdfast_queue_longest"].GetMetric()[0].GetGauge().GetValue() == 1
	})
	p.holdfast(t, "release", "orders.1", "--owner", "a").want(t, 0, `released`)
	waiting.wait(t)
	text, families := scrape(t, url)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	for _, line := range []string{
		`holdfast_requests_total{op="acquire",status="GRANTED"} 2`,
		`holdfast_requests_total{op="acquire",status="HELD"} 1`,
		`holdfast_requests_total{op="release",status="RELEASED"} 1`,
		`holdfast_request_duration_seconds_count{op="acquire"} 2`,
		`holdfast_acquire_wait_seconds_count 1`,
		`holdfast_hold_seconds_count 1`,
		`holdfast_lease_ended_total{reason="released"} 1`,
		`holdfast_leases{durability="persistent",mode="exclusive"} 1`,
		`holdfast_shard_owned{shard="0"} 1`,
		`holdfast_shard_owned{shard="1"} 1`,
		`holdfast_takeovers_total{reason="new"} 2`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
	manual, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile("(?m)^## (?:Counter|Gauge|Histogram)s$|^\\| `holdfast_[a-z_]+(?:\\{[a-z,]+\\})?` \\|.*\\|$").
		FindAllString(string(manual), -1)
	rows := metricRows(families)
	if !slices.Equal(documented, rows) {
		t.Errorf("the tables of metrics in docs/metrics.md should be\n%s", strings.Join(rows, "\n"))
	}
}

// metricRows returns the tables of the metrics of Holdfast, each behind its heading, as docs/metrics.md has them.
func metricRows(families map[string]*dto.MetricFamily) (rows []string) {
	for _, kind := range []dto.MetricType{dto.MetricType_COUNTER, dto.MetricType_GAUGE, dto.MetricType_HISTOGRAM} {
		var table []string
		for name, f := range families {
			if f.GetType() != kind || !strings.HasPrefix(name, "holdfast_") {
				continue
			}
			var labels []string
			for _, l := range f.GetMetric()[0].GetLabel() {
				labels = append(labels, l.GetName())
			}
			if labels != nil {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			table = append(table, fmt.Sprintf("| `%s` | %s |", name, f.GetHelp()))
		}
		slices.Sort(table)
		rows = append(rows, "## "+kind.String()[:1]+strings.ToLower(kind.String()[1:])+"s")
		rows = append(rows, table...)
	}
	return rows
}

// The default port may be in use: then it is another one. An address that was chosen may not.
func TestHTTPAddress(t *testing.T) {
	t.Parallel()
	first := serveWith(t, []string{"HOLDFAST_HTTP="}, "--listen", "127.0.0.1:0") // unless another program has the port
	second := serveWith(t, []string{"HOLDFAST_HTTP="}, "--listen", "127.0.0.1:0")
	second.log.WaitFor(t, second.done, "the port for HTTP is in use, taking another one")
	if first.http(t) == second.http(t) {
		t.Errorf("both serve %s", first.http(t))
	}
	waitPage(t, second.http(t)+"/readyz", "ok")

	taken := strings.TrimPrefix(first.http(t), "http://")
	data := t.TempDir()
	run(t, "serve", "--listen", "127.0.0.1:0", "--data", data, "--http", taken).want(t, 1,
		`^holdfast: HTTP: cannot listen on .*another program listens there.*--http`)
	runWith(t, []string{"HOLDFAST_HTTP=" + taken}, "serve", "--listen", "127.0.0.1:0", "--data", data).want(t, 1,
		`another program listens there`)
	run(t, "serve", "--http", "0.0.0.0:0", "--data", data).want(t, 2,
		`^holdfast: HTTP: 0\.0\.0\.0:0 is open to other hosts without TLS; .*--http-insecure$`)
	run(t, "serve", "--http", "here", "--data", data).want(t, 2, `^holdfast: HTTP: "here" is not HOST:PORT$`)
	if entries, err := os.ReadDir(data); err != nil || len(entries) > 0 {
		t.Errorf("a refused start has left %v, %v", entries, err)
	}

	off := serveWith(t, nil, "--listen", "127.0.0.1:0", "--http", "off")
	off.holdfast(t, "acquire", "orders.42").want(t, 0, `token 1`)
	if strings.Contains(off.out.String(), "http") {
		t.Errorf("without HTTP: %s", off.out)
	}
	open := serveWith(t, nil, "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", "--http-insecure", "--log-format",
		"json")
	_, port, err := net.SplitHostPort(regexp.MustCompile(`"http":"http://([^"]*)"`).FindStringSubmatch(open.ready)[1])
	if err != nil {
		t.Fatal(err)
	}
	waitPage(t, "http://127.0.0.1:"+port+"/livez", "ok")
}

// Health has an address of its own, with and without HTTP, which other hosts may reach and which has nothing else.
func TestHealthAddress(t *testing.T) {
	t.Parallel()
	alone := serveWith(t, nil, "--listen", "127.0.0.1:0", "--http", "off", "--health", "0.0.0.0:0", "--log-format", "json")
	address := regexp.MustCompile(`"health":"http://([^"]*)"`).FindStringSubmatch(alone.ready)
	if address == nil || strings.Contains(alone.ready, `"http":`) {
		t.Fatalf("health alone: %s", alone.ready)
	}
	_, port, err := net.SplitHostPort(address[1])
	stand.Must(t, err)
	waitPage(t, "http://127.0.0.1:"+port+"/livez", "ok")
	waitPage(t, "http://127.0.0.1:"+port+"/readyz", "ok")
	for _, path := range []string{"/", "/metrics", "/version"} {
		wantPage(t, "http://127.0.0.1:"+port+path, 404, "")
	}

	both := serveWith(t, nil, "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0")
	url := strings.TrimSuffix(regexp.MustCompile(`Health: +(\S+),`).FindStringSubmatch(both.out.WaitFor(t, both.done,
		"Health:"))[1], "/livez")
	waitPage(t, url+"/readyz", "ok")
	waitPage(t, both.http(t)+"/readyz", "ok")

	data := t.TempDir()
	run(t, "serve", "--listen", "127.0.0.1:0", "--data", data, "--http", "off", "--health",
		strings.TrimPrefix(url, "http://")).want(t, 1,
		`^holdfast: --health: HTTP: cannot listen on .*another program listens there.*--health`)
	run(t, "serve", "--data", data, "--health", "here").want(t, 2, `^holdfast: --health: HTTP: "here" is not HOST:PORT$`)
	run(t, "serve", "--data", data, "--http", "127.0.0.1:8422", "--health", "0.0.0.0:8422").want(t, 2,
		`^holdfast: --health 0\.0\.0\.0:8422: --http listens on 127\.0\.0\.1:8422; give one of them another port$`)
	if entries, err := os.ReadDir(data); err != nil || len(entries) > 0 {
		t.Errorf("a refused start has left %v, %v", entries, err)
	}
}

// The page is there for this host, and elsewhere only if it was asked for. A window that is open does not keep the node
// from stopping.
func TestPage(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "orders.1", "--owner", "a").want(t, 0, `token 1`)
	page := regexp.MustCompile(`Page: +(\S+)`).FindStringSubmatch(p.out.WaitFor(t, p.done, "Page:"))[1]
	if code, body := stand.Fetch(t, page); code != http.StatusOK || !strings.Contains(body, "orders.1") {
		t.Errorf("%d: %s", code, body)
	}
	if r, err := http.Post(page+"break", "", nil); err != nil || r.StatusCode != http.StatusNotFound {
		t.Errorf("an action without the flag: %v, %v", r, err)
	} else {
		_ = r.Body.Close()
	}
	stream, err := http.Get(page + "stream/locks")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	p.signal(t, syscall.SIGTERM)
	if state := p.wait(t); state.ExitCode() != 0 || strings.Contains(p.log.String(), "WARN") {
		t.Errorf("%v: %s", state, p.log)
	}

	for mode, code := range map[string]int{"auto": 404, "off": 404, "read": 200} {
		open := serveWith(t, nil, "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", "--http-insecure", "--http-page",
			mode)
		_, port, err := net.SplitHostPort(strings.TrimPrefix(open.http(t), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := stand.Fetch(t, "http://127.0.0.1:"+port+"/"); got != code {
			t.Errorf("%s, open to other hosts: %d, want %d", mode, got, code)
		}
	}
	run(t, "serve", "--http-page", "write").want(t, 2, `--http-page: auto, off, read or actions`)
	run(t, "serve", "--http", "0.0.0.0:0", "--http-insecure", "--http-page", "actions").want(t, 2,
		`^holdfast: --http-page actions: an address that other hosts reach, here 0\.0\.0\.0:0, requires TLS for it, .* or listen on 127\.0\.0\.1$`)
	run(t, "serve", "--http", "off", "--http-page", "read").want(t, 2,
		`--http-page and --http exclude each other: without HTTP it has no effect`)
}

// The audit file has one line for each act of an operator, with who and why, is for its owner alone, and can be
// renamed.
func TestAudit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.log")
	write(t, file, "an earlier line\n")
	p := serve(t, "--audit", file, "--log-level", "warn")
	p.holdfast(t, "acquire", "orders.1", "--owner", "a", "--confirm").want(t, 0, `token 1`)
	p.holdfast(t, "break", "orders.1", "--token", "1", "--reason", "it hangs").want(t, 0, `broke`)
	p.holdfast(t, "release", "orders.1", "--owner", "a").want(t, 4, ``)
	renamed := file + ".1"
	stand.Must(t, os.Rename(file, renamed))
	p.signal(t, syscall.SIGHUP)
	stand.Eventually(t, "the file is opened again", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	p.holdfast(t, "confirm", "orders.1", "--token", "1", "--by", "ops", "--how", "switched off").want(t, 0, `confirmed`)
	wantAudit(t, renamed, "an earlier line\n", map[string]any{"msg": "lock broken", "resource": "orders.1",
		"owner": "a", "token": 1.0, "reason": "it hangs"})
	wantAudit(t, file, "", map[string]any{"msg": "loss confirmed", "resource": "orders.1", "owner": "a", "token": 1.0,
		"reason": "ops: switched off"})
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	run(t, "serve", "--data", t.TempDir(), "--audit", t.TempDir()).want(t, 2,
		`^holdfast: --audit: cannot write ".*": is a directory$`)
}

// wantAudit fails the test unless the file has these lines: one in JSON with these members, behind what was there.
func wantAudit(t *testing.T, file, before string, members map[string]any) {
	t.Helper()
	text := stand.Value(os.ReadFile(file))(t)
	line, ok := strings.CutPrefix(string(text), before)
	var record map[string]any
	if err := json.Unmarshal([]byte(line), &record); !ok || err != nil || strings.Count(line, "\n") != 1 {
		t.Fatalf("%s: %v: %q", file, err, text)
	}
	for name, value := range members {
		if record[name] != value {
			t.Errorf("%s: %s is %v, want %v", file, name, record[name], value)
		}
	}
	if to, _ := record["answer_to"].(string); !strings.HasPrefix(to, "_INBOX.") {
		t.Errorf("%s: nothing says who asked: %s", file, line)
	}
}
