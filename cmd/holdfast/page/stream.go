package page

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// refresh is the minimum time between two readings of a view, and longestRefresh the maximum.
	refresh, longestRefresh = 2 * time.Second, 30 * time.Second
	// idleShare is how many times as long as a reading took a stream waits for the next: reading takes at most a
	// twentieth of its time. A reading that failed has mostly waited, and is tried again after the minimum.
	idleShare = 20
	// sendTimeout bounds how long a client may take to receive one event.
	sendTimeout = 10 * time.Second
	// reconnectMillis is how long a browser waits before it connects again.
	reconnectMillis = 2000
)

// stream serves the event stream of a view.
func (p *Page) stream(k *kind) http.Handler {
	return bounded(p.streams, "event streams are open", func(w http.ResponseWriter, r *http.Request) {
		d := p.running.Load()
		if d == nil {
			w.Header().Set("Retry-After", retryAfter)
			http.Error(w, errStarting.Error(), http.StatusServiceUnavailable)
			return
		}
		v, err := k.open(p, r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(p.life, cancel)()
		f, err := openFeed(w)
		if err == nil {
			_ = serveFeed(ctx, d, k, v, f) // the client is gone, or the node stops
		}
	})
}

// serveFeed sends what changes in the view until ctx ends or the client is gone.
func serveFeed(ctx context.Context, d *deployment, k *kind, v view, f *feed) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
		next, err := sendView(ctx, d, k, v, f)
		if err != nil {
			return err
		}
		pause.Reset(next)
	}
}

// sendView reads the view and sends it, and returns how long to wait before it is read again. If the deployment does not
// answer, that is sent.
func sendView(ctx context.Context, d *deployment, k *kind, v view, f *feed) (next time.Duration, err error) {
	begun := time.Now()
	reading, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	if err := v.load(reading, d); err != nil {
		return refresh, f.send("problem", err.Error())
	}
	next = min(max(refresh, idleShare*time.Since(begun)), longestRefresh)
	var text bytes.Buffer
	if err := k.template.ExecuteTemplate(&text, "live", frame{View: v, Now: time.Now()}); err != nil {
		return next, err
	}
	return next, f.send("live", string(visible(text.Bytes())))
}

// feed writes an event stream. It belongs to one goroutine.
type feed struct {
	w  io.Writer
	rc *http.ResponseController
}

// openFeed begins an answer that has no end.
func openFeed(w http.ResponseWriter) (*feed, error) {
	f := &feed{w: w, rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // asks a proxy to pass each event on at once
	return f, f.write(fmt.Sprintf("retry: %d\n\n", reconnectMillis))
}

// lineBreaks makes each line break one that an event stream knows.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// send sends one event.
func (f *feed) send(event, data string) error {
	var b strings.Builder
	b.WriteString("event: " + event + "\n")
	for line := range strings.SplitSeq(lineBreaks.Replace(data), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return f.write(b.String())
}

// write replaces the server's bound for the whole answer by one for each event.
func (f *feed) write(text string) error {
	if err := f.rc.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(f.w, text); err != nil {
		return err
	}
	return f.rc.Flush()
}
