package export_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/otel/export"
)

// receive starts a receiver of OTLP, and returns its URL and what it receives.
func receive(t *testing.T) (url string, received <-chan *traces.ResourceSpans) {
	t.Helper()
	all := make(chan *traces.ResourceSpans, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m collector.ExportTraceServiceRequest
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(data, &m)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		for _, spans := range m.GetResourceSpans() {
			all <- spans
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s.URL, all
}

var address = regexp.MustCompile(`nats://[0-9.]+:[0-9]+`)

// A node exports the spans of a request, at the latest when it stops.
func TestSpansAreExported(t *testing.T) {
	url, received := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	t.Setenv("OTEL_SERVICE_NAME", "locks")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	if code := serve(t, t.Output()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var names, attributes []string
	for len(received) > 0 {
		r := <-received
		for _, a := range r.GetResource().GetAttributes() {
			attributes = append(attributes, a.GetKey()+"="+a.GetValue().GetStringValue())
		}
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				names = append(names, s.GetName())
			}
		}
	}
	got := strings.Join(names, ", ")
	for _, want := range []string{"acquire holdfast.acquire.{resource}", "decide", "commit"} {
		if !strings.Contains(got, want) {
			t.Errorf("exported were %s, without %s", got, want)
		}
	}
	of := strings.Join(attributes, ", ")
	for _, want := range []string{"service.name=locks", "service.instance.id=n1", "deployment.environment.name=test"} {
		if !strings.Contains(of, want) {
			t.Errorf("the resource is %s, without %s", of, want)
		}
	}
}

// serve runs a node until it has answered a traced request, and returns its exit code.
func serve(t *testing.T, log io.Writer) int {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	p := &commands.Program{Stdout: in, Stderr: log, Trace: export.Start}
	go func() {
		ended <- p.Run(ctx, []string{"serve", "--name", "n1", "--listen", "127.0.0.1:0", "--http", "off", "--data",
			t.TempDir()})
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the node has not started: exit code %d", <-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	acquire(t, address.FindString(lines.Text()))
	stop()
	return <-ended
}

// A receiver that cannot be reached changes no answer and no exit code. The log says that spans were not exported.
func TestUnreachableReceiver(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	var log strings.Builder
	if code := serve(t, &log); code != 0 || !strings.Contains(log.String(), "cannot export traces") {
		t.Errorf("exit code %d, log:\n%s", code, &log)
	}
}

// acquire sends a traced request.
func acquire(t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_, err = nc.RequestMsg(&nats.Msg{
		Subject: "holdfast.acquire.a", Data: []byte(`{"owner":"o","ttl_ms":30000}`),
		Header: nats.Header{"traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}},
	}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
}

// A protocol that the program does not speak is refused before anything starts.
func TestOtherProtocol(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log strings.Builder
	p := &commands.Program{Stdout: ready(stop), Stderr: &log, Trace: export.Start}
	code := p.Run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--http", "off", "--data", t.TempDir()})
	const want = `OTEL_EXPORTER_OTLP_PROTOCOL: http/protobuf is the only protocol of this program, got "grpc"`
	if code != exit.Usage || !strings.Contains(log.String(), want) {
		t.Errorf("exit code %d, %s", code, &log)
	}
}

// ready is called when a node says that it is ready.
type ready func()

func (r ready) Write(p []byte) (int, error) {
	r()
	return len(p), nil
}
