package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/eventlog"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const eventStream = "HOLDFAST_EVENTS"

func mustRetain(tb testing.TB, nc *nats.Conn, cfg eventlog.Config) *eventlog.Stream {
	tb.Helper()
	s, err := retain(tb, nc, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func retain(tb testing.TB, nc *nats.Conn, cfg eventlog.Config) (*eventlog.Stream, error) {
	tb.Helper()
	if cfg.Log == nil {
		cfg.Log = jstest.Quiet()
	}
	cfg.Prefix, cfg.Replicas = jstest.Prefix, max(cfg.Replicas, 1)
	return eventlog.Open(jstest.Context(tb), nc, cfg)
}

// someEvents are n events of a shard on a few resources, three to a commit.
func someEvents(shard uint32, n int) []*messages.Event {
	var events []*messages.Event
	for position := uint64(1); len(events) < n; position++ {
		c := &journal.Commit{}
		for i := range uint64(3) {
			c.Changes = append(c.Changes, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
				Resource: fmt.Sprint("r", (position+i)%4, ".", shard), Owner: "test", Token: position, TtlMs: 1000,
			}})
		}
		events = append(events, journal.Events(shard, position, c)...)
	}
	return events[:n]
}

// mustPublish publishes as a node does: what a server does not answer in time is published again.
func mustPublish(tb testing.TB, s *eventlog.Stream, events []*messages.Event) {
	tb.Helper()
	ctx := jstest.Context(tb)
	err := s.Publish(ctx, events)
	for errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = s.Publish(ctx, events)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// wantRetained checks that the stream holds the events of a shard, each once and in their order.
func wantRetained(tb testing.TB, nc *nats.Conn, shard uint32, want []*messages.Event) {
	tb.Helper()
	stream, err := jstest.MustJetStream(tb, nc).Stream(jstest.Context(tb), eventStream)
	if err != nil {
		tb.Fatal(err)
	}
	var got []messages.EventID
	for sequence := stream.CachedInfo().State.FirstSeq; sequence <= stream.CachedInfo().State.LastSeq; sequence++ {
		m, err := stream.GetMsg(jstest.Context(tb), sequence)
		if err != nil {
			tb.Fatal(err)
		}
		id, err := messages.ParseEventID(m.Header.Get(messages.HeaderEventID))
		if err != nil {
			tb.Fatal(err)
		}
		if id.Shard == shard {
			got = append(got, id)
		}
	}
	if len(got) != len(want) {
		tb.Errorf("%d events of shard %d, want %d", len(got), shard, len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i].ID() {
			tb.Fatalf("event %d is %s, want %s", i, got[i], want[i].ID())
		}
	}
}

// waitOutWindow returns when JetStream knows no message id any more that was published before.
func waitOutWindow(tb testing.TB, nc *nats.Conn) {
	tb.Helper()
	js := jstest.MustJetStream(tb, nc)
	publish := func() bool {
		ack, err := js.Publish(jstest.Context(tb), jstest.Prefix.StoredEvent("probe"), nil,
			natsjs.WithMsgID("4294967295.1.0"))
		if err != nil {
			tb.Fatal(err)
		}
		return !ack.Duplicate
	}
	publish()
	jstest.WaitFor(tb, "the window for duplicates is over", publish)
}

func TestRetainedOnce(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	s := mustRetain(t, nc, eventlog.Config{Retention: time.Hour})
	events := someEvents(0, 2500)
	mustPublish(t, s, events[:1])
	mustPublish(t, s, events[:7])
	mustPublish(t, s, events[3:5]) // a predecessor that knows of nothing
	mustPublish(t, s, events[4:2300])
	wantRetained(t, nc, 0, events[:2300])
	waitOutWindow(t, nc)
	mustPublish(t, s, events[2299:2300])
	mustPublish(t, s, events[2000:])
	mustPublish(t, s, someEvents(1, 10))
	wantRetained(t, nc, 0, events)
	wantRetained(t, nc, 1, someEvents(1, 10))
}

// Several publishers of one shard, none of which knows of the others, each with batches of its own.
// An event is not stored behind those of the same resource in a later generation of shards, whatever shard has them.
func TestRetainedOnceInAllGenerations(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	s := mustRetain(t, nc, eventlog.Config{Retention: time.Hour})
	event := func(shard uint32, position, token uint64) []*messages.Event {
		return journal.Events(shard, position, &journal.Commit{Changes: []*journal.Change{{
			Kind:  messages.Event_ACQUIRED,
			Grant: &journal.Grant{Resource: "r", Owner: "test", Token: token, TtlMs: 1000},
		}}})
	}
	for _, events := range [][]*messages.Event{event(0, 7, 1), event(3, 1007, 2)} {
		mustPublish(t, s, events)
	}
	waitOutWindow(t, nc)
	mustPublish(t, s, event(0, 7, 1)) // by an owner that was paused
	wantRetained(t, nc, 0, event(0, 7, 1))
	wantRetained(t, nc, 3, event(3, 1007, 2))
}

func TestRetainedOnceByRivals(t *testing.T) {
	t.Parallel()
	server := jstest.MustStart(t)
	nc := jstest.MustConnect(t, server)
	events := someEvents(0, 1500)
	var rivals sync.WaitGroup
	for range 4 {
		s := mustRetain(t, jstest.MustConnect(t, server), eventlog.Config{Retention: time.Hour})
		rivals.Go(func() {
			for rest := events; len(rest) > 0; {
				n := min(len(rest), 1+rand.IntN(120))
				if err := s.Publish(jstest.Context(t), rest[:n]); err == nil {
					rest = rest[n:]
				} // it has lost a race, and tries again
			}
		})
	}
	rivals.Wait()
	wantRetained(t, nc, 0, events)
}

// What a publisher has sent arrives long after another one has taken its place, and after JetStream has
// forgotten the message ids.
func TestRetainedOnceHoweverLate(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 60} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			server := jstest.MustStart(t)
			nc := jstest.MustConnect(t, server)
			cfg := eventlog.Config{Retention: time.Hour}
			successor := mustRetain(t, nc, cfg)
			p := jstest.NewProxy(t, server.ClientURL())
			paused := mustRetain(t, jstest.MustDial(t, p.URL()), cfg)
			events := someEvents(0, 100)
			mustPublish(t, successor, events[:10])

			var late []*nats.Msg
			arrived := make(chan *nats.Msg, n)
			p.OnRequests(func(m *nats.Msg) jstest.Action {
				if !strings.HasPrefix(m.Subject, "holdfast.node.~event.") {
					return jstest.Pass
				}
				arrived <- m
				return jstest.Drop
			})
			ctx, cancel := context.WithCancel(jstest.Context(t))
			given := make(chan error, 1)
			go func() { given <- paused.Publish(ctx, events[10:10+n]) }()
			for range n {
				late = append(late, <-arrived)
			}
			cancel()
			if err := <-given; err == nil {
				t.Fatal("published, though nothing arrived")
			}
			p.OnRequests(nil)

			mustPublish(t, successor, events[10:90])
			waitOutWindow(t, nc)
			for _, m := range late {
				p.Repeat(m)
			}
			mustPublish(t, paused, events[89:]) // behind them on the same connection
			wantRetained(t, nc, 0, events)
		})
	}
}

func TestEventStreamIsMade(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	mustRetain(t, nc, eventlog.Config{Retention: 168 * time.Hour})
	wantStream := func(retention time.Duration) {
		t.Helper()
		cfg := mustEventConfig(t, nc)
		if cfg.MaxAge != retention || cfg.Duplicates != 100*time.Millisecond || cfg.MaxBytes <= 0 ||
			cfg.Storage != natsjs.FileStorage ||
			cfg.Discard != natsjs.DiscardOld || cfg.Replicas != 1 ||
			fmt.Sprint(cfg.Subjects) != "[holdfast.node.~event.>]" {
			t.Errorf("%s is made wrong: %+v", eventStream, cfg)
		}
	}
	wantStream(168 * time.Hour)
	mustRetain(t, nc, eventlog.Config{Retention: time.Minute})
	wantStream(time.Minute)
	_, err := retain(t, nc, eventlog.Config{})
	jstest.WantError(t, err, eventlog.ErrUnusable, "the retention is 0", "nats stream rm HOLDFAST_EVENTS")
}

func TestNoEventStream(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	if s, err := retain(t, nc, eventlog.Config{}); s != nil || err != nil {
		t.Errorf("got %v, error %v", s, err)
	}
}

func TestEventStreamOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config natsjs.StreamConfig
		words  []string
	}{
		"name": {natsjs.StreamConfig{Name: eventStream, Subjects: []string{"mine"}},
			[]string{eventStream, "not made by Holdfast", "another prefix"}},
		"subjects": {natsjs.StreamConfig{Name: "MINE", Subjects: []string{"holdfast.node.>"}},
			[]string{"another stream", "holdfast.node.~event.>", "another prefix"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc := jstest.MustConnect(t, jstest.MustStart(t))
			if _, err := jstest.MustJetStream(t, nc).CreateStream(jstest.Context(t), test.config); err != nil {
				t.Fatal(err)
			}
			_, err := retain(t, nc, eventlog.Config{Retention: time.Hour})
			jstest.WantError(t, err, eventlog.ErrUnusable, test.words...)
		})
	}
}

func TestEventStreamWasChanged(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	mustRetain(t, nc, eventlog.Config{Retention: time.Hour})
	cfg := mustEventConfig(t, nc)
	cfg.MaxMsgsPerSubject = 1
	if _, err := jstest.MustJetStream(t, nc).UpdateStream(jstest.Context(t), cfg); err != nil {
		t.Fatal(err)
	}
	_, err := retain(t, nc, eventlog.Config{Retention: time.Hour})
	jstest.WantError(t, err, eventlog.ErrUnusable, "max messages per subject 1", "must be -1",
		"nats stream edit "+eventStream)
}

// A disk that is too small for the usual bound gets a smaller one.
func TestEventStreamOnASmallDisk(t *testing.T) {
	t.Parallel()
	server := jstest.MustStartFile(t, `
		listen: "127.0.0.1:-1"
		jetstream { store_dir: "$DIR", sync_interval: always, max_file_store: 1GB }
	`)
	nc := jstest.MustConnect(t, server)
	mustRetain(t, nc, eventlog.Config{Retention: time.Hour})
	if got := mustEventConfig(t, nc).MaxBytes; got <= 0 || got > 1<<30 {
		t.Errorf("%d bytes may be retained", got)
	}
}

// A cluster says of disks that are too small only that no server is suitable.
func TestEventStreamOnSmallDisks(t *testing.T) {
	t.Parallel()
	t.Run("Halved", func(t *testing.T) {
		t.Parallel()
		nc := jstest.MustCluster(t, "max_file_store: 1GB").Conns[0]
		if _, err := retain(t, nc, eventlog.Config{Retention: time.Hour, Replicas: 3}); err != nil {
			t.Fatal(err)
		}
		if got := mustEventConfig(t, nc).MaxBytes; got <= 0 || got > 1<<30 {
			t.Errorf("%d bytes may be retained", got)
		}
	})
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		nc := jstest.MustCluster(t, "max_file_store: 10MB").Conns[0]
		_, err := retain(t, nc, eventlog.Config{Retention: time.Hour, Replicas: 3})
		jstest.WantError(t, err, eventlog.ErrUnusable, eventStream, "64 MiB", "do not retain events")
	})
}

// A wait for JetStream is logged.
func TestEventStreamWaits(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	refused := jstest.FirstOf(12, func(m *nats.Msg) bool { return strings.HasPrefix(m.Subject, "$JS.API.STREAM.") })
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if refused(request) {
			return jstest.Refuse(400, 10005, "no suitable peers for placement")
		}
		return jstest.Pass
	})
	log := jstest.NewRecorder()
	if _, err := retain(t, m.Client, eventlog.Config{Retention: time.Hour, Log: slog.New(log)}); err != nil {
		t.Fatal(err)
	}
	if level, ok := log.Find("JetStream is not ready"); !ok || level != slog.LevelWarn {
		t.Error("the wait is not logged")
	}
}

func mustEventConfig(tb testing.TB, nc *nats.Conn) natsjs.StreamConfig {
	tb.Helper()
	stream, err := jstest.MustJetStream(tb, nc).Stream(jstest.Context(tb), eventStream)
	if err != nil {
		tb.Fatal(err)
	}
	return stream.CachedInfo().Config
}

// A client that may publish where plain events go, which no documented permission allows, reaches the stream with
// nothing: neither with an event of its own nor with an id that a real event will have.
func TestForgedEvents(t *testing.T) {
	t.Parallel()
	server := jstest.MustStart(t)
	nc, client := jstest.MustConnect(t, server), jstest.MustDial(t, server.ClientURL())
	s := mustRetain(t, nc, eventlog.Config{Retention: time.Hour})
	events := someEvents(0, 100)
	mustPublish(t, s, events[:3])
	far := someEvents(0, 3000)
	for _, id := range []messages.EventID{events[3].ID(), events[10].ID(), far[2999].ID()} {
		for _, resource := range []string{"r0.0", "r1.0", "r2.0", "r3.0", "forged"} {
			m := nats.NewMsg("holdfast.event." + resource)
			m.Header.Set(messages.HeaderEventID, id.String())
			m.Data = []byte("forged")
			if err := client.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := client.FlushWithContext(jstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, s, events[3:4])
	mustPublish(t, s, events[4:])
	wantRetained(t, nc, 0, events)
}

// A stream that an earlier version has made listened to what clients may publish. It is changed in place: what it has
// stays, nothing is stored twice, and a consumer goes on.
func TestEventStreamOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	server := jstest.MustStart(t)
	nc, ctx := jstest.MustConnect(t, server), jstest.Context(t)
	js := jstest.MustJetStream(t, nc)
	jstest.MustOpen(t, nc, 1)
	stream, err := js.CreateStream(ctx, natsjs.StreamConfig{
		Name: eventStream, Description: "Holdfast holdfast: events, filled by holdfast only",
		Subjects: []string{"holdfast.event.>"}, Retention: natsjs.LimitsPolicy,
		MaxConsumers: -1, MaxMsgs: -1, MaxBytes: 1 << 30, MaxMsgSize: -1, MaxMsgsPerSubject: -1, MaxAge: time.Hour,
		Discard: natsjs.DiscardOld, Storage: natsjs.FileStorage, Replicas: 1, Duplicates: 2 * time.Minute,
		AllowAtomicPublish: true, Metadata: map[string]string{"holdfast.prefix": "holdfast"},
	})
	if err != nil {
		t.Fatal(err)
	}
	events := someEvents(0, 200)
	const filter = "holdfast.event.r1.>"
	consumer, err := stream.CreateConsumer(ctx, natsjs.ConsumerConfig{Durable: "audit", FilterSubject: filter,
		AckPolicy: natsjs.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	wanted := 0
	for i, e := range events {
		m := nats.NewMsg(messages.DefaultPrefix.Event(e.GetLease().GetResource()))
		m.Data = e.AppendJSON(nil)
		e.SetHeader(m.Header)
		if strings.HasPrefix(e.GetLease().GetResource(), "r1.") {
			wanted++
		}
		if i < 120 {
			if _, err := js.PublishMsg(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := mustRetain(t, nc, eventlog.Config{Retention: time.Hour})
	cfg := mustEventConfig(t, nc)
	if fmt.Sprint(cfg.Subjects) != "[holdfast.node.~event.>]" || cfg.MaxBytes != 1<<30 {
		t.Errorf("it is changed wrong: %+v", cfg)
	}
	if err := nc.Publish("holdfast.event.r0.0", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, s, events[60:150])
	mustPublish(t, s, events[110:])
	wantRetained(t, nc, 0, events)
	later, err := stream.CreateConsumer(ctx, natsjs.ConsumerConfig{FilterSubject: filter,
		AckPolicy: natsjs.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]natsjs.Consumer{"made before": consumer, "made later": later} {
		got, err := c.FetchNoWait(wanted + 1)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for m := range got.Messages() {
			if !strings.HasPrefix(m.Subject(), "holdfast.event.r1.") || m.Headers().Get(messages.HeaderEventID) == "" {
				t.Errorf("%s: it got %s, %v", name, m.Subject(), m.Headers())
			}
			n++
		}
		if n != wanted {
			t.Errorf("%s: it got %d events, want %d", name, n, wanted)
		}
	}
}
