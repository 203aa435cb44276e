package request

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/testserver"
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
	woken := make(bell, 1)
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
	s := Sender{inbox: "_INBOX.x."}
	name, ok := strings.CutPrefix(s.Listens(), s.inbox)
	if _, err := strconv.ParseUint(name, replyBase, 64); err == nil || !ok || strings.HasPrefix(name, batchMark) {
		t.Errorf("%q is the subject of an answer", s.Listens())
	}
}
