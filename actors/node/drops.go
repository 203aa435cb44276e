package node

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/messages"
)

// drops counts the requests that were dropped because they could not be answered, and logs at most one a second: a
// client may send many.
type drops struct {
	count     *atomic.Uint64
	log       *slog.Logger
	sometimes *rate.Sometimes
}

func newDrops(log *slog.Logger) drops {
	return drops{count: new(atomic.Uint64), log: log, sometimes: onceASecond()}
}

// onceASecond keeps log lines that clients can cause from filling the log.
func onceASecond() *rate.Sometimes { return &rate.Sometimes{First: 1, Interval: time.Second} }

func (d drops) drop(subject string, why error) {
	n := d.count.Add(1)
	d.sometimes.Do(func() {
		d.log.Warn("request dropped: its reply subject is not an inbox", "subject", withoutSession(subject),
			"error", why, "dropped_so_far", n)
	})
}

// withoutSession returns the subject of a request without the session that it may name: who knows it may keep the
// session.
func withoutSession(subject string) string {
	for _, op := range []messages.Operation{messages.OpKeep, messages.OpEnd} {
		if before, _, ok := strings.Cut(subject, "."+string(op)+"."); ok {
			return before + "." + string(op) + ".*"
		}
	}
	return subject
}
