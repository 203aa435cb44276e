package metrics_test

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/messages"
)

// fixed is a node with the given figures.
type fixed struct {
	shards  uint32
	figures node.Figures
	census  map[uint32]actors.Census
	storage *node.Storage
}

func (f *fixed) Storage() *node.Storage { return f.storage }

func (f *fixed) Shards() uint32                                  { return f.shards }
func (f *fixed) Figures() node.Figures                           { return f.figures }
func (f *fixed) Census(context.Context) map[uint32]actors.Census { return f.census }

// gather returns the metric families by name.
func gather(t *testing.T, m *metrics.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	all, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*dto.MetricFamily)
	for _, f := range all {
		byName[f.GetName()] = f
	}
	return byName
}

// What an observer receives and what a node has is shown; a shard that is not open counts for nothing.
func TestValues(t *testing.T) {
	m := metrics.New("v1")
	m.Started(&fixed{
		shards: 3,
		figures: node.Figures{
			Answers: []node.Answers{
				{Operation: messages.OpAcquire, Status: messages.Status_GRANTED, Count: 7},
				{Status: messages.Status_INVALID, Count: 1},
			},
			Dropped: 1, Unread: 2, Unsent: 3, Pending: 4, Waiting: 5, LateTokens: 6,
			Events: actors.EventCounts{Published: 8, Behind: 9, Lost: 10},
			Clock:  node.ClockOffset{Node: "n2", Seconds: -1.5},
			Tenants: []node.TenantFigures{{Name: "A", Held: 1, Waiting: 2, MaxHeld: 5, MaxWaiting: 6,
				Requests: 3, Refused: 4}, {Name: "B"}},
		},
		census: map[uint32]actors.Census{
			0: {State: actors.Open, Epoch: 4, Stalled: true, LongestQueue: 3, Sessions: 1,
				EphemeralExclusive: 1, EphemeralShared: 2,
				Figures: ledger.Figures{Exclusive: 1, Shared: 2, HeldBack: 3, Bytes: 100}},
			1: {State: actors.Open, Epoch: 2, LongestQueue: 2, Sessions: 2,
				Figures: ledger.Figures{Exclusive: 10, Bytes: 10}},
			2: {State: actors.Opening, Epoch: 9, LongestQueue: 99, Figures: ledger.Figures{Exclusive: 99}},
		},
	})
	m.Conflicted(1)
	m.Ended(actors.EndBroken, time.Minute)
	m.Returned()
	m.Opened(2, actors.TakeoverMoved, time.Second)
	for want, name := range map[string]string{
		`holdfast_requests_total{op="acquire",status="GRANTED"} 7
		 holdfast_requests_total{op="other",status="INVALID"} 1`: "holdfast_requests_total",
		"holdfast_requests_dropped_total 1": "holdfast_requests_dropped_total",
		"holdfast_requests_unread_total 2":  "holdfast_requests_unread_total",
		"holdfast_replies_unsent_total 3":   "holdfast_replies_unsent_total",
		"holdfast_requests_pending 4":       "holdfast_requests_pending",
		"holdfast_waiters 5":                "holdfast_waiters",
		"holdfast_tokens_near_limit 6":      "holdfast_tokens_near_limit",
		`holdfast_tenant_leases{tenant="A"} 1
		 holdfast_tenant_leases{tenant="B"} 0`: "holdfast_tenant_leases",
		`holdfast_tenant_waiters{tenant="A"} 2
		 holdfast_tenant_waiters{tenant="B"} 0`: "holdfast_tenant_waiters",
		`holdfast_tenant_leases_limit{tenant="A"} 5
		 holdfast_tenant_leases_limit{tenant="B"} 0`: "holdfast_tenant_leases_limit",
		`holdfast_tenant_waiters_limit{tenant="A"} 6
		 holdfast_tenant_waiters_limit{tenant="B"} 0`: "holdfast_tenant_waiters_limit",
		`holdfast_tenant_requests_total{tenant="A"} 3
		 holdfast_tenant_requests_total{tenant="B"} 0`: "holdfast_tenant_requests_total",
		`holdfast_tenant_refused_total{tenant="A"} 4
		 holdfast_tenant_refused_total{tenant="B"} 0`: "holdfast_tenant_refused_total",
		"holdfast_events_published_total 8":  "holdfast_events_published_total",
		"holdfast_events_behind 9":           "holdfast_events_behind",
		"holdfast_events_lost_total 10":      "holdfast_events_lost_total",
		"holdfast_clock_offset_seconds -1.5": "holdfast_clock_offset_seconds",
		"holdfast_queue_longest 3":           "holdfast_queue_longest",
		"holdfast_sessions 3":                "holdfast_sessions",
		"holdfast_memory_held_bytes 110":     "holdfast_memory_held_bytes",
		"holdfast_grants_returned_total 1":   "holdfast_grants_returned_total",
		`holdfast_leases{durability="ephemeral",mode="exclusive"} 1
		 holdfast_leases{durability="ephemeral",mode="shared"} 2
		 holdfast_leases{durability="persistent",mode="exclusive"} 11
		 holdfast_leases{durability="persistent",mode="held_back"} 3
		 holdfast_leases{durability="persistent",mode="shared"} 2`: "holdfast_leases",
		`holdfast_shard_owned{shard="0"} 1
		 holdfast_shard_owned{shard="1"} 1
		 holdfast_shard_owned{shard="2"} 0`: "holdfast_shard_owned",
		`holdfast_shard_epoch{shard="0"} 4
		 holdfast_shard_epoch{shard="1"} 2`: "holdfast_shard_epoch",
		`holdfast_shard_stalled{shard="0"} 1
		 holdfast_shard_stalled{shard="1"} 0`: "holdfast_shard_stalled",
		`holdfast_commit_conflicts_total{shard="1"} 1
		 holdfast_commit_conflicts_total{shard="2"} 0`: "holdfast_commit_conflicts_total",
		`holdfast_lease_ended_total{reason="broken"} 1
		 holdfast_lease_ended_total{reason="disconnected"} 0
		 holdfast_lease_ended_total{reason="expired"} 0
		 holdfast_lease_ended_total{reason="released"} 0`: "holdfast_lease_ended_total",
		`holdfast_takeovers_total{reason="handed_over"} 0
		 holdfast_takeovers_total{reason="moved"} 1
		 holdfast_takeovers_total{reason="new"} 0
		 holdfast_takeovers_total{reason="restarted"} 0`: "holdfast_takeovers_total",
	} {
		f := gather(t, m)[name]
		expected := "# HELP " + name + " " + f.GetHelp() + "\n# TYPE " + name + " " +
			strings.ToLower(f.GetType().String()) + "\n" + want + "\n"
		if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader(expected), name); err != nil {
			t.Error(err)
		}
	}
}

// What a node stores on is shown, and when certificates end. A node with an external NATS has no storage, and one
// without certificates has one that never ends.
func TestStorage(t *testing.T) {
	end := time.Unix(2_000_000_000, 0)
	for name, test := range map[string]struct {
		storage *node.Storage
		https   bool
		want    string
	}{
		"broken": {&node.Storage{
			FreeBytes: 1, TotalBytes: 2, Fault: "full", Behind: map[uint32]int{0: 1, 2: 0},
			Certificates: map[string]time.Time{"clients": end},
		}, true, `holdfast_storage_fault 1; holdfast_storage_free_bytes 1; holdfast_storage_size_bytes 2; ` +
			`holdfast_replicas_behind{shard="0"} 1; holdfast_replicas_behind{shard="2"} 0; ` +
			`holdfast_certificate_expiry_timestamp_seconds{use="clients"} 2e+09; holdfast_certificate_expiry_timestamp_seconds{use="https"} 2e+09`},
		"well": {&node.Storage{Synced: true}, false,
			`holdfast_storage_fault 0; holdfast_certificate_expiry_timestamp_seconds{use="none"} +Inf`},
		"elsewhere": {nil, false, `holdfast_certificate_expiry_timestamp_seconds{use="none"} +Inf`},
	} {
		t.Run(name, func(t *testing.T) {
			m := metrics.New("v1")
			m.Started(&fixed{storage: test.storage})
			if test.https {
				m.Certificate("https", func() time.Time { return end })
			}
			w := httptest.NewRecorder()
			m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			got := regexp.MustCompile(`(?m)^holdfast_(?:storage|replicas|certificate)_.*$`).FindAllString(
				w.Body.String(), -1)
			want := strings.Split(test.want, "; ")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// Every histogram has native buckets and classic ones, and the sum is in seconds.
func TestHistograms(t *testing.T) {
	m := metrics.New("v1")
	m.Answered(messages.OpAcquire, 3*time.Millisecond)
	m.Answered("", 3*time.Millisecond)
	m.Waited(2 * time.Second)
	m.Ended(actors.EndExpired, time.Minute)
	m.Committed(0, 4*time.Millisecond, 12)
	m.Opened(0, actors.TakeoverNew, 5*time.Millisecond)
	m.Compacted(6 * time.Millisecond)
	all := gather(t, m)
	for name, sum := range map[string]float64{
		"holdfast_request_duration_seconds": .003, "holdfast_acquire_wait_seconds": 2, "holdfast_hold_seconds": 60,
		"holdfast_commit_duration_seconds": .004, "holdfast_commit_changes": 12, "holdfast_shard_open_seconds": .005,
		"holdfast_compaction_seconds": .006,
	} {
		h := all[name].GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != 1 || math.Abs(h.GetSampleSum()-sum) > 1e-9 {
			t.Errorf("%s: %d observations of %v, want one of %v", name, h.GetSampleCount(), h.GetSampleSum(), sum)
		}
		if len(h.GetBucket()) == 0 || h.Schema == nil || len(h.GetPositiveSpan()) == 0 {
			t.Errorf("%s: %d classic buckets, schema %v, %d native spans", name, len(h.GetBucket()), h.Schema,
				len(h.GetPositiveSpan()))
		}
	}
}

// Before the node runs there are metrics of the process, and none of the node.
func TestBeforeTheStart(t *testing.T) {
	m := metrics.New("v1")
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, part := range []string{`holdfast_build_info{goversion="go`, `version="v1"} 1`, "go_goroutines ",
		"process_start_time_seconds "} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%q is missing", part)
		}
	}
	if strings.Contains(w.Body.String(), "holdfast_shard_owned") {
		t.Error("a node that does not run has shards")
	}
}
