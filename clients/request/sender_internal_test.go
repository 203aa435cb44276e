package request

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/testserver"
	"github.com/holdfast-io/holdfast/messages"
)

// Exchanges look at the connection at once when it is another one and when it is closed.
func TestExchangesAreWoken(t *testing.T) {
	nc, err := nats.Connect(testserver.Build(t).Start(t))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s, err := NewSender(nc, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	woken := make(signal, 1)
	a := alarm.Alarm{Waker: woken}
	expect := func(when string) {
		t.Helper()
		select {
		case <-woken:
		case <-time.After(10 * time.Second):
			t.Fatalf("not woken when the connection is %s", when)
		}
	}
	s.alarms.Set(&a, time.Now().Add(time.Hour))
	connection := s.connection.Load()
	s.reconnect()
	if expect("another one"); s.connection.Load() == connection {
		t.Error("it is called the same connection")
	}
	s.alarms.Set(&a, time.Now().Add(time.Hour))
	nc.Close()
	if expect("closed"); !s.IsOff() {
		t.Error("it is not called closed")
	}
}

// What comes to the subject on which a client listens is the answer to no attempt.
func TestListensToNoAnswers(t *testing.T) {
	s := Sender{inbox: "_INBOX.x.", names: newNames()}
	name, ok := strings.CutPrefix(s.Listens(), s.inbox)
	if _, _, is := s.names.number(name); is || !ok {
		t.Errorf("%q is the subject of an answer", s.Listens())
	}
}

// A copy of a request is answered, too. Its grant is that of the first answer, and is not given back; a grant behind a
// refusal is.
func TestSecondAnswer(t *testing.T) {
	for first, want := range map[messages.Status]int{messages.Status_GRANTED: 0, messages.Status_HELD: 1} {
		var orphans, received int
		s := Sender{cfg: Config{Orphan: func(*messages.Lease) { orphans++ }}}
		a := &attempt{to: Route{op: messages.OpAcquire, key: "r"}, receive: func(*Answer) { received++ }}
		s.attempts.add(a)
		for _, status := range []messages.Status{first, messages.Status_GRANTED} {
			s.take(&Answer{ID: a.id, reply: &messages.Reply{Status: status, Lease: &messages.Lease{Resource: "r"}},
				decoded: true}, 0)
		}
		if received != 1 || orphans != want {
			t.Errorf("GRANTED behind %v: %d answers received, %d orphans, want 1 and %d", first, received, orphans,
				want)
		}
	}
}

// A recent has the latest numbers that were added, and no older ones.
func TestRecent(t *testing.T) {
	var r recent
	for n := uint64(1); n <= 3*recentNumbers; n++ {
		r.next(n)
		if r.has(n) || n%3 > 0 {
			continue
		}
		r.add(n)
		if !r.has(n) {
			t.Fatalf("%d was added", n)
		}
	}
	for n := uint64(1); n <= 3*recentNumbers+1; n++ {
		if want := n > 2*recentNumbers && n <= 3*recentNumbers && n%3 == 0; r.has(n) != want {
			t.Fatalf("it has %d: %v", n, !want)
		}
	}
}
