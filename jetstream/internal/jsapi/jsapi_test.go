package jsapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

func mustRequester(t *testing.T, nc *nats.Conn) *jsapi.Requester {
	t.Helper()
	r, err := jsapi.NewRequester(nc, jsapi.Config{Log: jstest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A request is repeated until JetStream is ready. Its answer is then final, a refusal too.
func TestRequesterRepeats(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	r := mustRequester(t, m.Client)
	refused := jstest.FirstOf(3, func(m *nats.Msg) bool { return strings.HasPrefix(m.Subject, "$JS.API.STREAM.") })
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if refused(request) {
			return jstest.Refuse(503, int(jsapi.CodeNotAvailable), "JetStream system temporarily unavailable")
		}
		return jstest.Pass
	})
	if _, err := r.CreateStream(jstest.Context(t), natsjs.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if n := m.Count("$JS.API.STREAM.CREATE.S"); n != 4 {
		t.Errorf("sent %d times, want 4", n)
	}
	_, err := r.Stream(jstest.Context(t), "none")
	if !errors.Is(err, natsjs.ErrStreamNotFound) || errors.Is(err, jsapi.ErrStreamLost) ||
		m.Count("$JS.API.STREAM.INFO.none") != 1 {
		t.Errorf("error %v after %d requests", err, m.Count("$JS.API.STREAM.INFO.none"))
	}
	jstest.WantError(t, jsapi.PermanentError(m.Client, err), jsapi.ErrStreamLost)

	m.OnRequests(func(*nats.Msg) jstest.Action { return jstest.Action{Status: "503"} })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = r.Stream(ctx, "S")
	jstest.WantError(t, err, jsapi.ErrNoJetStream, "no server answers", context.DeadlineExceeded.Error())
	m.Client.Close()
	_, err = r.Stream(jstest.Context(t), "S")
	jstest.WantError(t, err, nats.ErrConnectionClosed, "the connection to NATS is closed")
}

// A timeout means that the request is forbidden only if NATS has just reported that.
func TestForbidden(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, jstest.GoodConfig+`
		authorization { users: [ { user: node, password: node, permissions: {
			publish: { deny: ["$JS.API.STREAM.CREATE.S", "s"] }, subscribe: { deny: "answers" } } } ] }`)
	nc := jstest.MustConnect(t, s, jstest.User("node"))
	_, err := mustRequester(t, nc).CreateStream(jstest.Context(t), natsjs.StreamConfig{Name: "S"})
	jstest.WantError(t, err, jsapi.ErrForbidden, "$JS.API.STREAM.CREATE.S")

	timesOut := func(cause func() error) func() error {
		return func() error {
			if err := errors.Join(cause(), nc.Flush()); err != nil {
				t.Error(err)
			}
			return nats.ErrTimeout
		}
	}
	old := timesOut(func() error { return nil })
	jstest.WantError(t, jsapi.Request(nc, "STREAM.CREATE.S", old), nats.ErrTimeout)
	publishes := func() error { return nc.Publish("s", nil) }
	subscribes := func() error { _, err := nc.SubscribeSync("answers"); return err }
	for name, test := range map[string]struct {
		send  func(*nats.Conn, string, func() error) error
		cause func() error
		want  error
	}{
		"PublishForbidden":  {jsapi.Publish, publishes, jsapi.ErrForbidden},
		"AnswersForbidden":  {jsapi.Request, subscribes, jsapi.ErrForbidden},
		"AckMayBeForbidden": {jsapi.Publish, subscribes, nats.ErrTimeout}, // the message may be stored
	} {
		t.Run(name, func(t *testing.T) {
			jstest.WantError(t, test.send(nc, "s", timesOut(test.cause)), test.want)
		})
	}
}

// A server without room for a stream is no server that is not ready yet.
func TestLacksStorage(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, strings.Replace(jstest.GoodConfig, "sync_interval", "max_file: 1MB, sync_interval", 1))
	r := mustRequester(t, jstest.MustConnect(t, s))
	_, err := r.CreateStream(jstest.Context(t), natsjs.StreamConfig{Name: "S", MaxBytes: 2 << 20})
	if !jsapi.LacksStorage(err) || jsapi.IsNotReady(err) || !jsapi.HasCode(err, jsapi.CodeSealed, jsapi.CodeNoStorage) {
		t.Errorf("error %v", err)
	}
}

// The settings that JetStream reports for a stream that it was asked for are those, and a change shows.
func TestSettings(t *testing.T) {
	t.Parallel()
	nc := jstest.MustConnect(t, jstest.MustStart(t))
	want := natsjs.StreamConfig{Name: "S", Storage: natsjs.FileStorage, Discard: natsjs.DiscardNew}
	stream, err := mustRequester(t, nc).CreateStream(jstest.Context(t), want)
	if err != nil {
		t.Fatal(err)
	}
	got := stream.CachedInfo().Config
	if s := jsapi.CommonSettings(got, want).Changed(); s != nil {
		t.Errorf("changed: %+v", s)
	}
	got.Sealed = true
	if s := jsapi.CommonSettings(got, want).Changed(); s == nil || *s != (jsapi.Setting{Name: "sealed", Got: true, Want: false}) {
		t.Errorf("changed: %+v", s)
	}
}
