package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Each of these appends succeeds, and its record is stored exactly once, whatever happens on the way.
func TestOutcomeStored(t *testing.T) {
	t.Parallel()
	drops := func(n int, condition func(*nats.Msg) bool) func(*middle) {
		return func(m *middle) {
			dropped := firstOf(n, condition)
			m.onRequests(func(request *nats.Msg) action {
				if dropped(request) {
					return drop
				}
				return pass
			})
		}
	}
	refuses := func(with action) func(*middle) {
		return func(m *middle) {
			refused := firstOf(2, isAppend)
			m.onRequests(func(request *nats.Msg) action {
				if refused(request) {
					return with
				}
				return pass
			})
		}
	}
	losesAcks := func(n int) func(*middle) {
		return func(m *middle) {
			lost := firstOf(n, isAppend)
			m.onAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if lost(request) {
					return nil
				}
				return answer
			})
		}
	}
	for _, test := range []struct {
		name     string
		disturb  func(*middle)
		sends    int // how often the record is sent
		atLeast  time.Duration
		quickest bool // must not wait for a timeout
	}{
		{name: "Undisturbed", disturb: func(*middle) {}, sends: 1, quickest: true},
		{name: "RequestLost", disturb: drops(1, isAppend), sends: 2, atLeast: firstWait},
		{name: "TwoRequestsLost", disturb: drops(2, isAppend), sends: 3, atLeast: firstWait + secondWait},
		{name: "AckLost", disturb: losesAcks(1), sends: 1, atLeast: firstWait},
		{name: "LookLostToo", disturb: drops(2, func(m *nats.Msg) bool { return isAppend(m) || isLook(m) }), sends: 2, atLeast: firstWait},
		{name: "Twice", disturb: sendsTwice, sends: 1, quickest: true},
		{name: "TwiceRefusalFirst", disturb: sendsTwiceHearingTheSecond, sends: 1, quickest: true},
		{name: "DeposedLeaderRefuses", disturb: deposedLeader, sends: 2, quickest: true},
		{name: "TooManyRequests", disturb: refuses(refuse(429, 10167, "too many requests")), sends: 3, quickest: true},
		{name: "DuplicateInProcess", disturb: refuses(refuse(409, 10158, "duplicate message id is in process")), sends: 3, quickest: true},
		{name: "WrongLastInFlight", disturb: refuses(refuse(400, 10164, "wrong last sequence")), sends: 3, quickest: true},
		{name: "WrongLastAhead", disturb: refuses(refuse(400, 10071, "wrong last sequence: 9")), sends: 3, quickest: true},
		{name: "StoreFailed", disturb: refuses(refuse(503, 10077, "no space left on device")), sends: 3, quickest: true},
		{name: "Unavailable", disturb: refuses(refuse(503, 10008, "JetStream system temporarily unavailable")), sends: 3, quickest: true},
		{name: "NotLeader", disturb: refuses(refuse(500, 10009, "JetStream cluster can not handle request")), sends: 3, quickest: true},
		{name: "AccountFull", disturb: refuses(refuse(400, 10002, "resource limits exceeded for account")), sends: 3, quickest: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMiddle(t)
			b := m.bucket()
			mustFill(t, b, 3)
			before := m.count("$KV.")
			test.disturb(m)
			began := time.Now()
			mustAppend(t, b, 3, commit(1, 4, 10))
			took := time.Since(began)

			if sends := m.count("$KV.") - before; sends != test.sends {
				t.Errorf("sent %d times, want %d", sends, test.sends)
			}
			if took < test.atLeast {
				t.Errorf("took %v, and an answer was awaited for %v", took, test.atLeast)
			}
			if test.quickest && took > patience/2 {
				t.Errorf("took %v", took)
			}
			m.onRequests(nil)
			m.onAnswers(nil)
			mustAppend(t, b, 4, commit(1, 5, 10))
			got := mustReplay(t, m.other(), 2)
			if want := "3: commit 3 of epoch 1\n4: commit 4 of epoch 1\n5: commit 5 of epoch 1"; got.describe() != want {
				t.Errorf("the bucket holds\n%s\nwant\n%s", got.describe(), want)
			}
		})
	}
}

// sendsTwice is a network that delivers a publish twice.
func sendsTwice(m *middle) {
	m.onRequests(func(request *nats.Msg) action {
		if isAppend(request) {
			return action{copies: 2}
		}
		return pass
	})
}

// sendsTwiceHearingTheSecond loses the acknowledgement, so that the refusal of the second copy is all
// that the writer hears.
func sendsTwiceHearingTheSecond(m *middle) {
	sendsTwice(m)
	first := firstOf(1, isAppend)
	m.onAnswers(func(request, answer *nats.Msg) *nats.Msg {
		if first(request) {
			return nil
		}
		return answer
	})
}

// deposedLeader answers the first publish and the first look from a state that is long gone.
func deposedLeader(m *middle) {
	publish, look := firstOf(1, isAppend), firstOf(1, isLook)
	m.onRequests(func(request *nats.Msg) action {
		switch {
		case publish(request):
			return refuse(400, 10071, "wrong last sequence: 2")
		case look(request):
			return refuse(404, 10037, "no message found")
		}
		return pass
	})
}

func TestOutcomeNoStream(t *testing.T) {
	t.Parallel()
	m := newMiddle(t)
	b := m.bucket()
	// JetStream has no leader: NATS itself answers that nobody listens, at first.
	refused := firstOf(3, isAppend)
	m.onRequests(func(request *nats.Msg) action {
		if !refused(request) {
			return pass
		}
		return action{status: "503"}
	})
	mustAppend(t, b, 0, commit(1, 1, 10))
	if sends := m.count("$KV."); sends != 4 {
		t.Errorf("sent %d times, want 4", sends)
	}
}

// That the answers are forbidden, for a while, does not mean that the record was.
func TestOutcomeAnswersForbidden(t *testing.T) {
	t.Parallel()
	m := newMiddle(t)
	b := m.bucket()
	first, lost := firstOf(1, isAppend), firstOf(1, isAppend)
	m.onRequests(func(request *nats.Msg) action {
		if first(request) {
			inbox := request.Reply[:strings.LastIndexByte(request.Reply, '.')] + ".*"
			return action{copies: 1, line: `-ERR 'Permissions Violation for Subscription to "` + inbox + `"'`}
		}
		return pass
	})
	m.onAnswers(func(request, answer *nats.Msg) *nats.Msg {
		if lost(request) {
			return nil
		}
		return answer
	})
	mustAppend(t, b, 0, commit(1, 1, 10))
	wantStored(t, mustReplay(t, m.other(), 0), 1, "1: commit 1 of epoch 1")
}

func TestOutcomeConflict(t *testing.T) {
	t.Parallel()
	t.Run("AfterLostRequest", func(t *testing.T) {
		t.Parallel()
		m := newMiddle(t)
		b, other := m.bucket(), m.other()
		mustFill(t, b, 3)
		var late *nats.Msg
		m.onRequests(func(request *nats.Msg) action {
			if !isAppend(request) || late != nil {
				return pass
			}
			late = request // One handler at a time runs, and the test reads it after the append.
			mustAppend(t, other, 3, commit(2, 4, 10))
			return drop
		})
		wantError(t, b.Append(testContext(t), 3, commit(1, 4, 10)), journal.ErrConflict, "commit 4 of epoch 2")

		// What was lost turns up after all, and is refused by its expectation.
		m.again(late)
		mustAppend(t, other, 4, commit(2, 5, 10))
		m.again(late)
		mustAppend(t, other, 5, commit(2, 6, 10))
		got := mustReplay(t, other, 3)
		if want := "4: commit 4 of epoch 2\n5: commit 5 of epoch 2\n6: commit 6 of epoch 2"; got.describe() != want {
			t.Errorf("the bucket holds\n%s\nwant\n%s", got.describe(), want)
		}
	})
	t.Run("SameKey", func(t *testing.T) {
		t.Parallel()
		m := newMiddle(t)
		b, other := m.bucket(), m.other()
		mustAppend(t, other, 0, page(0, 0, 1, 11))
		wantError(t, b.Append(testContext(t), 0, page(0, 0, 1, 10)), journal.ErrConflict, "page p at commit 1")
	})
}

func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		disturb func(t *testing.T, m *middle, other *jetstream.Bucket)
		words   string
	}{
		{"PlacePassed", func(t *testing.T, m *middle, other *jetstream.Bucket) {
			t.Helper()
			// The record is stored and replaced before the writer looks.
			m.onAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if !isAppend(request) {
					return answer
				}
				mustAppend(t, other, 4, page(0, 0, 5, 10))
				return nil
			})
		}, "filled and purged"},
		{"PlaceAtTheEndPurged", func(t *testing.T, m *middle, _ *jetstream.Bucket) {
			t.Helper()
			lost := firstOf(1, isAppend)
			m.onAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if !lost(request) {
					return answer
				}
				stream, err := mustJetStream(t, m.direct).Stream(testContext(t), streamName)
				if err == nil {
					err = stream.Purge(testContext(t), natsjs.WithPurgeSubject("$KV.HOLDFAST_0.state.p"))
				}
				if err != nil {
					t.Error(err)
				}
				return nil
			})
		}, "filled and purged"},
		{"StrangeAnswer", func(_ *testing.T, m *middle, _ *jetstream.Bucket) {
			m.onRequests(func(request *nats.Msg) action {
				if isAppend(request) {
					return action{answer: `{"stream":"SOMEBODY","seq":4}`}
				}
				return pass
			})
		}, `"SOMEBODY"`},
		{"NoJSON", func(_ *testing.T, m *middle, _ *jetstream.Bucket) {
			m.onRequests(func(request *nats.Msg) action {
				if isAppend(request) {
					return action{answer: "thanks"}
				}
				return pass
			})
		}, "strange answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMiddle(t)
			b, other := m.bucket(), m.other()
			mustFill(t, b, 3)
			test.disturb(t, m, other)
			err := b.Append(testContext(t), 3, page(0, 0, 4, 10))
			wantError(t, err, journal.ErrUnknown, "position 4", "state.p", test.words)
			if errors.Is(err, journal.ErrConflict) {
				t.Errorf("%v claims to know", err)
			}
		})
	}
}

func TestOutcomeContextEnds(t *testing.T) {
	t.Parallel()
	t.Run("Deadline", func(t *testing.T) {
		t.Parallel()
		m := newMiddle(t)
		b := m.bucket()
		m.onRequests(func(*nats.Msg) action { return drop })
		ctx, cancel := context.WithTimeout(t.Context(), 3*firstWait)
		defer cancel()
		err := b.Append(ctx, 0, commit(1, 1, 10))
		wantError(t, err, journal.ErrUnknown)
		wantError(t, err, context.DeadlineExceeded)
	})
	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		m := newMiddle(t)
		b := m.bucket()
		ctx, cancel := context.WithCancel(t.Context())
		m.onRequests(func(*nats.Msg) action {
			cancel()
			return drop
		})
		err := b.Append(ctx, 0, commit(1, 1, 10))
		wantError(t, err, journal.ErrUnknown)
		wantError(t, err, context.Canceled)
		if m.count("$KV.") != 1 {
			t.Error("sent again after the end")
		}
	})
	t.Run("NeverSent", func(t *testing.T) {
		t.Parallel()
		s := mustStart(t)
		b := mustOpen(t, mustDial(t, s.ClientURL()), 1).Bucket(0)
		s.Shutdown()
		ctx, cancel := context.WithTimeout(t.Context(), firstWait)
		defer cancel()
		// Either the client knows that it is disconnected, and nothing leaves, or it does not yet.
		err := b.Append(ctx, 0, commit(1, 1, 10))
		if !errors.Is(err, journal.ErrNotStored) && !errors.Is(err, journal.ErrUnknown) {
			t.Errorf("got %v", err)
		}
		err = b.Append(ctx, 0, commit(1, 1, 10))
		wantError(t, err, journal.ErrNotStored)
	})
}
