package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// deaf is a client that is not connected: no probe has a listener.
type deaf struct{ w *world }

func (d deaf) Probe(p actors.Probe) { d.w.shard.NoListener(p.Session, p.Number) }

func (deaf) Notify(actors.Notice) {}

// A client that is not connected has its session ended disconnect_ms after its last request that named the session, and
// not before.
func TestPatienceBeginsWithTheLastRequest(t *testing.T) {
	const patience = 5 * time.Second
	for name, again := range map[string]struct {
		resource string
		event    lease.Event
	}{
		"keep":    {sessionID, listening(patience)},
		"acquire": {"other", inSession()},
		"extend": {"r", lease.Extend{Request: &messages.ExtendRequest{Owner: "ann", TtlMs: 10_000,
			Session: sessionID}}},
	} {
		t.Run(name, func(t *testing.T) {
			inClosedWorld(t, actors.Tuning{}, func(w *world) {
				w.prober = deaf{w}
				w.open()
				w.want(messages.Status_GRANTED, 1, "r", inSession())
				w.want(messages.Status_EXTENDED, 0, sessionID, listening(patience))
				waits := w.send("r", waiting(time.Minute, time.Hour))
				w.pass(3 * time.Second)
				if s := w.ask(again.resource, again.event).GetStatus(); s != messages.Status_EXTENDED && s != messages.Status_GRANTED {
					w.Fatalf("got %v", s)
				}
				w.pass(patience - 1)
				w.want(messages.Status_HELD, 1, "r", get())
				w.pass(time.Second)
				w.check(w.answer(waits), messages.Status_GRANTED, 2)
			})
		})
	}
}

// listening is a keep of a client that may be disconnected for so long.
func listening(patience time.Duration) lease.Keep {
	return lease.Keep{Request: &messages.KeepRequest{TtlMs: 10_000, Alive: "_INBOX.ann",
		DisconnectMs: uint32(patience.Milliseconds())}}
}

// Who knows a session and not its secret does not end it sooner: neither by a short keep, nor by a subject without
// listeners.
func TestKeepWithoutTheSecret(t *testing.T) {
	secret := []byte("0123456789abcdef")
	for name, test := range map[string]struct {
		hash, secret []byte
		shortens     bool
	}{
		"none":    {messages.HashSecret(secret), nil, false},
		"another": {messages.HashSecret(secret), []byte("0123456789abcdeF"), false},
		"right":   {messages.HashSecret(secret), secret, true},
		"no need": {nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			for what, change := range map[string]func(*messages.KeepRequest){
				"shorter": func(r *messages.KeepRequest) { r.TtlMs = 3000 },
				"deaf":    func(r *messages.KeepRequest) { r.Alive, r.DisconnectMs = "_INBOX.none", 5000 },
			} {
				inClosedWorld(t, actors.Tuning{}, func(w *world) {
					w.prober = deaf{w}
					w.open()
					first := inSession()
					first.Request.SecretHash = test.hash
					w.want(messages.Status_GRANTED, 1, "r", first)
					waits := w.send("r", waiting(time.Minute, time.Hour))
					synctest.Wait()
					attack := keep(10 * time.Second)
					attack.Request.Secret = test.secret
					change(attack.Request)
					w.want(messages.Status_EXTENDED, 0, sessionID, attack)
					w.pass(8 * time.Second)
					if got := w.ask("r", get()).GetLease().GetToken() != 1; got != test.shortens {
						w.Errorf("%s: the session has ended: %t, want %t", what, got, test.shortens)
					}
					w.pass(2 * time.Second)
					w.check(w.answer(waits), messages.Status_GRANTED, 2)
				})
			}
		})
	}
}
