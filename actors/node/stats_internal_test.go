package node

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// nowhere takes answers and events.
type nowhere struct{}

func (nowhere) Answer(uint32, []lease.Answer)                    {}
func (nowhere) Wants(string) bool                                { return true }
func (nowhere) Publish(context.Context, []*messages.Event) error { return nil }

// What a shard has counted stays counted, once, when it ends and when it is opened anew: Prometheus would take a lower
// count for a restart of the node.
func TestCountsOfShardsThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, clock, journal := slog.New(slog.DiscardHandler), actors.SystemClock(), journaltest.NewMemory()
		s := &statistics{
			drops: newDrops(log), endpoints: &endpoints{}, outbox: &outbox{answers: newAnswers(clock, nil)},
			quota: new(actors.Quota), tenants: newTenants(Config{}, newGate(Capacity{})),
			live: make(map[*actors.Shard]struct{}),
		}
		starter := &starter{system: actors.NewSystem(log), statistics: s}
		defer starter.system.Close()
		want := func(events uint64, when string) {
			t.Helper()
			if got := s.figures().Events.Published; got != events {
				t.Errorf("%s: %d events are counted, want %d", when, got, events)
			}
		}
		for opening := range uint64(3) {
			shard := starter.launch(actors.ShardConfig{
				Node: "n1", Journal: journal, Clock: clock, Outbox: nowhere{}, Publisher: nowhere{}, Log: log,
			})
			if err := shard.Opened(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(opening, "opened")
			_, err := shard.SendAll([]actors.Request{{
				Resource: fmt.Sprint("r", opening),
				Event:    lease.Acquire{Request: &messages.AcquireRequest{Owner: "a", TtlMs: 60_000}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			want(opening+1, "an event")
			if err := shard.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(opening+1, "ended")
			s.retire(shard)
			want(opening+1, "retired")
		}
	})
}
