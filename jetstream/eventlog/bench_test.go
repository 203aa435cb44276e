package eventlog_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/jetstream/eventlog"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// BenchmarkRetain measures how fast the stream of events is filled, by the size of a batch. An iteration
// is an event.
func BenchmarkRetain(b *testing.B) {
	for _, size := range []int{1, 10, 50, 100, 1000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s := mustRetain(b, jstest.MustConnect(b, jstest.MustStart(b)), eventlog.Config{Retention: time.Hour})
			position := uint64(0)
			for n := 0; b.Loop(); n++ {
				if n%size != 0 {
					continue // it went with those before
				}
				position++
				c := &journal.Commit{}
				for i := range size {
					c.Changes = append(c.Changes, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
						Resource: fmt.Sprint("orders.", i), Owner: "test", Token: position, TtlMs: 15_000,
					}})
				}
				if err := s.Publish(b.Context(), journal.Events(0, position, c)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
