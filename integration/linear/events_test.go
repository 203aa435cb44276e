package linear_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// Events that are forged, or that show other journals, are refused.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{})
	nc := s.Connect()
	watch := linear.RecordWatch(t.Context(), "watch", s.Client())
	defer watch.Stop()
	plain, err := linear.RecordSubscription("subscription", nc, messages.DefaultPrefix, "")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Stop()
	for range 3 {
		lock, err := s.Client().Acquire(t.Context(), "events", holdfast.Metadata(map[string]string{"a": "b"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	j, err := linear.ReadJournal(t.Context(), nc, messages.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*linear.Events{watch, plain} {
		await(t, e, j)
		want(t, e, j, "")
	}
	if watch.Count() != 6 {
		t.Errorf("%d events, wanted 6", watch.Count())
	}

	want(t, watch, new(linear.Journal), "") // it was read before all that
	other := openBook().acquired("a", 1, "x")
	for _, e := range []*linear.Events{watch, plain} {
		want(t, e, &other.Journal, "received as")
	}
	key, err := messages.EncodeKey("events")
	if err != nil {
		t.Fatal(err)
	}
	shard := messages.ShardOf(key, j.Shards())
	first := fmt.Sprintf("%d.%d.%d", shard, 2, 0)
	publish(t, nc, "{", first)
	publish(t, nc, forged(shard, 2, 7), fmt.Sprintf("%d.2.7", shard))
	publish(t, nc, forged(shard, 2, 0), "0.9.9")
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(bound); plain.Count() < 6+2 && time.Now().Before(end); {
		<-tick.C
	}
	for _, said := range []string{"cannot be read", "has the id", "does not have"} {
		want(t, plain, j, said)
	}
}

// forged is an event that no node has published.
func forged(shard uint32, position uint64, index int) string {
	return fmt.Sprintf(
		`{"kind":"ACQUIRED","lease":{"resource":"events","owner":"z","token":"1"},"shard":%d,"position":"%d","index":%d}`,
		shard, position, index)
}

func publish(t *testing.T, nc *nats.Conn, payload, id string) {
	t.Helper()
	m := &nats.Msg{Subject: messages.DefaultPrefix.Event("events"), Data: []byte(payload), Header: nats.Header{}}
	m.Header.Set(messages.HeaderEventID, id)
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, e *linear.Events, j *linear.Journal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := e.Await(ctx, j); err != nil {
		t.Fatal(err)
	}
}

// want checks what is said of the events, if anything is to be.
func want(t *testing.T, e *linear.Events, j *linear.Journal, text string) {
	t.Helper()
	report, _ := linear.Check(t.Context(), history(nil), j, []*linear.Events{e}, linear.Terms{})
	var said []string
	for _, v := range report.Violations {
		if v.Check == "events" {
			said = append(said, v.Text)
		}
	}
	if all := strings.Join(said, "\n"); text == "" && all != "" || !strings.Contains(all, text) {
		t.Errorf("said %q, wanted %q", all, text)
	}
}
