package tenants

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

const (
	// floodRate is the max-rate of the tenant that floods, openRate how many requests a second it sends in an open
	// loop, closedWorkers how many of its workers send the next one when they have an answer.
	floodRate, openRate, closedWorkers = 1000, 10_000, 256
	// measuredWorkers lock and release, each a resource of its own, for roundTime.
	measuredWorkers = 4
	roundTime       = 3 * time.Second
	// floodVariable says to the process of a flood what to do.
	floodVariable = "TENANTS_FLOOD"
)

func TestMain(m *testing.M) {
	flood := os.Getenv(floodVariable)
	if flood == "" {
		os.Exit(stand.Main(m))
	}
	if err := runFlood(flood, os.Stdout); err != nil {
		os.Exit(1)
	}
}

// BenchmarkFlood measures the pairs of acquire and release of one tenant while another is quiet, and while it floods
// the service: in a closed loop, in an open one far above its rate, and with 20 messages a second of 1 MB of headers.
// The service, the flood and the measurement are three processes. The rounds of the four take turns.
func BenchmarkFlood(b *testing.B) {
	url := serveTenants(b, fmt.Sprintf("%s: { max-rate: %d }\n%s: {}\n", first, floodRate, second)).URL
	all := map[string][]time.Duration{}
	var clients []*client
	for range measuredWorkers {
		clients = append(clients, dial(b, url, second))
	}
	measure(clients, roundTime) // warm
	for b.Loop() {
		for _, kind := range []string{"quiet", "closed", "open", "headers"} {
			sent := startFlood(b, url, kind)
			all[kind] = append(all[kind], measure(clients, roundTime)...)
			b.Logf("%s: %d pairs, %s", kind, len(all[kind]), sent())
		}
	}
	for kind, took := range all {
		slices.Sort(took)
		b.ReportMetric(milliseconds(took, 50), kind+"-p50-ms")
		b.ReportMetric(milliseconds(took, 99), kind+"-p99-ms")
		b.ReportMetric(milliseconds(took, 99)/milliseconds(all["quiet"], 99), kind+"-p99-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

func milliseconds(sorted []time.Duration, percent int) float64 {
	if !slices.IsSorted(sorted) {
		slices.Sort(sorted)
	}
	return sorted[len(sorted)*percent/100].Seconds() * 1000
}

// measure locks and releases for a time, and returns how long each pair took.
func measure(clients []*client, long time.Duration) (all []time.Duration) {
	var running sync.WaitGroup
	var mu sync.Mutex
	end := time.Now().Add(long)
	for i, c := range clients {
		running.Go(func() {
			var own []time.Duration
			for time.Now().Before(end) {
				began := time.Now()
				for _, m := range pair(fmt.Sprint("measured", i)) {
					answer, err := c.Request(m.Subject, m.Data, patience)
					if err != nil || answer.Header.Get("Nats-Service-Error") != "" {
						c.Errorf("%s: %v, %v", m.Subject, answer, err)
						return
					}
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		})
	}
	running.Wait()
	return all
}

// pair is an acquire and a release.
func pair(name string) [2]*nats.Msg {
	return [2]*nats.Msg{
		{Subject: "holdfast.acquire." + name, Data: []byte(`{"owner":"o","ttl_ms":60000}`)},
		{Subject: "holdfast.release." + name, Data: []byte(`{"owner":"o"}`)},
	}
}

// serveTenants starts a node as users do, with the accounts and a tenants file.
func serveTenants(tb testing.TB, tenants string) *stand.Member {
	tb.Helper()
	dir, address := tb.TempDir(), porttest.Free(tb, 1)[0]
	file, config := filepath.Join(dir, "tenants.yaml"), stand.NATSConfig(tb, accounts(false))
	text, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(config, []byte(strings.Replace(string(text), "127.0.0.1:-1", address, 1)), 0o600)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(tenants), 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	m := stand.NewAlone(tb)
	m.URL = "nats://" + address
	m.Args = []string{"serve", "--name", "n1", "--nats-config", config, "--user", "node", "--password", "n",
		"--tenants", file}
	m.Start()
	m.WaitReady()
	return m
}

// startFlood starts the process of a flood, unless it is to be quiet, and returns what ends it and returns what it has
// sent.
func startFlood(tb testing.TB, url, kind string) (stop func() string) {
	tb.Helper()
	if kind == "quiet" {
		return func() string { return "nothing was sent" }
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), floodVariable+"="+kind+" "+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan() // it has begun
	return func() string {
		_ = in.Close()
		lines.Scan()
		if err := cmd.Wait(); err != nil {
			tb.Fatal(err)
		}
		return lines.Text()
	}
}

// flooded counts what a flood has sent, and what was answered OVERLOADED and otherwise.
type flooded struct{ sent, refused, other atomic.Uint64 }

func (f *flooded) String() string {
	return fmt.Sprintf("%d sent, %d refused, %d answered otherwise", f.sent.Load(), f.refused.Load(), f.other.Load())
}

func (f *flooded) answered(m *nats.Msg) {
	if bytes.Contains(m.Data, []byte(`"OVERLOADED"`)) {
		f.refused.Add(1)
		return
	}
	f.other.Add(1)
}

// runFlood floods until its standard input ends, and writes when it has begun and what it has sent.
func runFlood(what string, out io.Writer) error {
	kind, url, _ := strings.Cut(what, " ")
	nc, err := nats.Connect(url, nats.UserInfo("of-"+first, "p"))
	if err != nil {
		return err
	}
	f := &flooded{}
	switch kind {
	case "open":
		go f.open(nc)
	case "headers":
		go f.headers(url)
	default:
		for i := range closedWorkers {
			go f.closed(nc, fmt.Sprint("flood", i))
		}
	}
	if _, err := fmt.Fprintln(out, "begun"); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	_, err = fmt.Fprintln(out, f)
	return err
}

func (f *flooded) closed(nc *nats.Conn, name string) {
	for {
		for _, m := range pair(name) {
			f.sent.Add(1)
			if answer, err := nc.Request(m.Subject, m.Data, time.Second); err == nil {
				f.answered(answer)
			}
		}
	}
}

func (f *flooded) headers(url string) {
	headers, tick := largeHeaders(), time.NewTicker(time.Second/20)
	for range tick.C {
		if attack(url, "of-"+first, "p", "holdfast.acquire.a", headers, 1) == nil {
			f.sent.Add(1)
		}
	}
}

func (f *flooded) open(nc *nats.Conn) {
	inbox := nats.NewInbox()
	if _, err := nc.Subscribe(inbox, f.answered); err != nil {
		panic(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	for began := time.Now(); ; <-tick.C {
		for due := uint64(time.Since(began).Seconds() * openRate); f.sent.Load() < due; {
			for _, m := range pair(fmt.Sprint("flood", f.sent.Load()%closedWorkers)) {
				_ = nc.PublishRequest(m.Subject, inbox, m.Data)
				f.sent.Add(1)
			}
		}
	}
}
