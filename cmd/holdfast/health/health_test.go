package health_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/health"
)

// node is one whose state the test chooses.
type node struct {
	connected, hears, ticks, answers, commits error
	asked                                     atomic.Int64
}

func (n *node) Connected() error              { return n.connected }
func (n *node) Hears() error                  { return n.hears }
func (n *node) Ticks() error                  { return n.ticks }
func (n *node) Answers(context.Context) error { return n.answers }

func (n *node) Commits(ctx context.Context) error {
	n.asked.Add(1)
	if errors.Is(n.commits, context.DeadlineExceeded) {
		<-ctx.Done()
		return ctx.Err()
	}
	return n.commits
}

func ask(h http.Handler, query string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+query, nil))
	return w.Code, w.Body.String()
}

func want(t *testing.T, h http.Handler, query string, code int, parts ...string) {
	t.Helper()
	<-time.After(2 * time.Second) // of the bubble: earlier results are not fresh any more
	got, text := ask(h, query)
	if got != code {
		t.Errorf("%q: %d, want %d: %s", query, got, code, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q: %q, want %q in it", query, text, part)
		}
	}
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, n := health.New(), &node{}
		want(t, h.Live(), "", 200, "ok")
		want(t, h.Ready(), "", 503, "[-]started failed: the node is being started\n", "readyz check failed\n")
		h.Started(n)
		want(t, h.Ready(), "", 200, "ok")
		want(t, h.Ready(), "?verbose", 200,
			"[+]started ok\n[+]running ok\n[+]nats ok\n[+]announcements ok\n[+]commits ok\nreadyz check passed\n")
		want(t, h.Live(), "?verbose", 200, "[+]assignment ok\n[+]shards ok\nlivez check passed\n")
		want(t, h.Ready(), "?exclude=all", 400,
			`exclude: one of started, running, nats, announcements, commits, got "all"`)

		n.connected, n.hears = errors.New("it is cut"), errors.New("it is deaf")
		want(t, h.Ready(), "", 503, "[-]nats failed: it is cut\n[-]announcements failed: it is deaf\n[+]commits ok\n")
		if err := h.Check(t.Context()); !errors.Is(err, n.connected) || err.Error() != "nats: it is cut\nannouncements: it is deaf" {
			t.Errorf("got %q", err)
		}
		want(t, h.Ready(), "?exclude=nats", 503, "[+]nats excluded: ok\n[-]announcements failed")
		want(t, h.Ready(), "?exclude=nats&exclude=announcements", 200, "ok")
		want(t, h.Live(), "", 200, "ok")
		n.connected, n.hears = nil, nil
		<-time.After(2 * time.Second)
		if err := h.Check(t.Context()); err != nil {
			t.Error(err)
		}

		n.commits = context.DeadlineExceeded
		want(t, h.Ready(), "", 503, "[-]commits failed: context deadline exceeded\n")
		n.commits = errors.Join(errors.New("one"), errors.New("two"))
		want(t, h.Ready(), "", 503, "[-]commits failed: one; two\n")
		n.commits = nil

		n.ticks, n.answers = errors.New("it stands still"), errors.New("shard 3 does not answer")
		want(t, h.Live(), "", 503,
			"[-]assignment failed: it stands still\n[-]shards failed: shard 3 does not answer\nlivez check failed\n")
		want(t, h.Ready(), "", 200, "ok")
		n.ticks, n.answers = nil, nil
	})
}

// A node that stops is not ready at once, although the last result is fresh, and alive to its end.
func TestStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, n := health.New(), &node{}
		h.Started(n)
		want(t, h.Ready(), "", 200)
		n.answers, n.commits = errors.New("its shards have ended"), errors.New("its shards have ended")
		h.Stopping()
		if code, text := ask(h.Ready(), ""); code != 503 ||
			!strings.Contains(text, "[-]running failed: the node is stopping") || strings.Contains(text, "[-]commits") {
			t.Errorf("%d: %s", code, text)
		}
		want(t, h.Live(), "", 200, "ok")
	})
}

// However many ask, the checks are made once a second.
func TestResultsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, n := health.New(), &node{}
		h.Started(n)
		for range 10 {
			for range 100 {
				go ask(h.Ready(), "")
			}
			synctest.Wait()
			<-time.After(100 * time.Millisecond)
		}
		if asked := n.asked.Load(); asked != 1 {
			t.Errorf("asked %d times in a second, want once", asked)
		}
		<-time.After(time.Millisecond)
		if ask(h.Ready(), ""); n.asked.Load() != 2 {
			t.Errorf("asked %d times in two seconds, want 2", n.asked.Load())
		}
	})
}
