package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Each of these appends succeeds, and its record is stored exactly once, whatever happens on the way.
func TestOutcomeStored(t *testing.T) {
	t.Parallel()
	drops := func(n int, condition func(*nats.Msg) bool) func(*jstest.Middle) {
		return func(m *jstest.Middle) {
			dropped := jstest.FirstOf(n, condition)
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if dropped(request) {
					return jstest.Drop
				}
				return jstest.Pass
			})
		}
	}
	refuses := func(with jstest.Action) func(*jstest.Middle) {
		return func(m *jstest.Middle) {
			refused := jstest.FirstOf(2, jstest.IsAppend)
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if refused(request) {
					return with
				}
				return jstest.Pass
			})
		}
	}
	losesAcks := func(n int) func(*jstest.Middle) {
		return func(m *jstest.Middle) {
			lost := jstest.FirstOf(n, jstest.IsAppend)
			m.OnAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if lost(request) {
					return nil
				}
				return answer
			})
		}
	}
	for _, test := range []struct {
		name     string
		disturb  func(*jstest.Middle)
		sends    int // how often the record is sent
		atLeast  time.Duration
		quickest bool // must not wait for a timeout
	}{
		{name: "Undisturbed", disturb: func(*jstest.Middle) {}, sends: 1, quickest: true},
		{name: "RequestLost", disturb: drops(1, jstest.IsAppend), sends: 2, atLeast: firstWait},
		{name: "TwoRequestsLost", disturb: drops(2, jstest.IsAppend), sends: 3, atLeast: firstWait + secondWait},
		{name: "AckLost", disturb: losesAcks(1), sends: 1, atLeast: firstWait},
		{name: "LookLostToo", disturb: drops(2, func(m *nats.Msg) bool {
			return jstest.IsAppend(m) ||
				jstest.IsLook(m)
		}), sends: 2, atLeast: firstWait},
		{name: "Twice", disturb: sendsTwice, sends: 1, quickest: true},
		{name: "TwiceRefusalFirst", disturb: sendsTwiceHearingTheSecond, sends: 1, quickest: true},
		{name: "DeposedLeaderRefuses", disturb: deposedLeader, sends: 2, quickest: true},
		{name: "TooManyRequests", disturb: refuses(jstest.Refuse(429, 10167, "too many requests")), sends: 3,
			quickest: true},
		{name: "DuplicateInProcess", disturb: refuses(jstest.Refuse(409, 10158, "duplicate message id is in process")),
			sends: 3, quickest: true},
		{name: "WrongLastInFlight", disturb: refuses(jstest.Refuse(400, 10164, "wrong last sequence")), sends: 3,
			quickest: true},
		{name: "WrongLastAhead", disturb: refuses(jstest.Refuse(400, 10071, "wrong last sequence: 9")), sends: 3,
			quickest: true},
		{name: "StoreFailed", disturb: refuses(jstest.Refuse(503, 10077, "no space left on device")), sends: 3,
			quickest: true},
		{name: "Unavailable", disturb: refuses(jstest.Refuse(503, 10008, "JetStream system temporarily unavailable")),
			sends: 3, quickest: true},
		{name: "NotLeader", disturb: refuses(jstest.Refuse(500, 10009, "JetStream cluster can not handle request")),
			sends: 3, quickest: true},
		{name: "AccountFull", disturb: refuses(jstest.Refuse(400, 10002, "resource limits exceeded for account")),
			sends: 3, quickest: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := jstest.NewMiddle(t)
			b := m.Bucket()
			jstest.MustFill(t, b, 3)
			before := m.Count("$KV.")
			test.disturb(m)
			began := time.Now()
			jstest.MustAppend(t, b, 3, jstest.Commit(1, 4, 10))
			took := time.Since(began)

			if sends := m.Count("$KV.") - before; sends != test.sends {
				t.Errorf("sent %d times, want %d", sends, test.sends)
			}
			if took < test.atLeast {
				t.Errorf("took %v, and an answer was awaited for %v", took, test.atLeast)
			}
			if test.quickest && took > jstest.Timeout/2 {
				t.Errorf("took %v", took)
			}
			m.OnRequests(nil)
			m.OnAnswers(nil)
			jstest.MustAppend(t, b, 4, jstest.Commit(1, 5, 10))
			got := jstest.MustReplay(t, m.Other(), 2)
			if want := "3: commit 3 of epoch 1\n4: commit 4 of epoch 1\n5: commit 5 of epoch 1"; got.Describe() != want {
				t.Errorf("the bucket holds\n%s\nwant\n%s", got.Describe(), want)
			}
		})
	}
}

// sendsTwice is a network that delivers a publish twice.
func sendsTwice(m *jstest.Middle) {
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if jstest.IsAppend(request) {
			return jstest.Action{Copies: 2}
		}
		return jstest.Pass
	})
}

// sendsTwiceHearingTheSecond loses the acknowledgement, so that the refusal of the second copy is all
// that the writer receives.
func sendsTwiceHearingTheSecond(m *jstest.Middle) {
	sendsTwice(m)
	first := jstest.FirstOf(1, jstest.IsAppend)
	m.OnAnswers(func(request, answer *nats.Msg) *nats.Msg {
		if first(request) {
			return nil
		}
		return answer
	})
}

// deposedLeader answers the first publish and the first look from a state that is long gone.
func deposedLeader(m *jstest.Middle) {
	publish, look := jstest.FirstOf(1, jstest.IsAppend), jstest.FirstOf(1, jstest.IsLook)
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		switch {
		case publish(request):
			return jstest.Refuse(400, 10071, "wrong last sequence: 2")
		case look(request):
			return jstest.Refuse(404, 10037, "no message found")
		}
		return jstest.Pass
	})
}

func TestOutcomeNoStream(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	b := m.Bucket()
	// JetStream has no leader: NATS itself answers that there are no responders, at first.
	refused := jstest.FirstOf(3, jstest.IsAppend)
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if !refused(request) {
			return jstest.Pass
		}
		return jstest.Action{Status: "503"}
	})
	jstest.MustAppend(t, b, 0, jstest.Commit(1, 1, 10))
	if sends := m.Count("$KV."); sends != 4 {
		t.Errorf("sent %d times, want 4", sends)
	}
}

// That the answers are forbidden, for a while, does not mean that the record was.
func TestOutcomeAnswersForbidden(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	b := m.Bucket()
	first, lost := jstest.FirstOf(1, jstest.IsAppend), jstest.FirstOf(1, jstest.IsAppend)
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if first(request) {
			inbox := request.Reply[:strings.LastIndexByte(request.Reply, '.')] + ".*"
			return jstest.Action{Copies: 1, Line: `-ERR 'Permissions Violation for Subscription to "` + inbox + `"'`}
		}
		return jstest.Pass
	})
	m.OnAnswers(func(request, answer *nats.Msg) *nats.Msg {
		if lost(request) {
			return nil
		}
		return answer
	})
	jstest.MustAppend(t, b, 0, jstest.Commit(1, 1, 10))
	wantStored(t, jstest.MustReplay(t, m.Other(), 0), 1, "1: commit 1 of epoch 1")
}

func TestOutcomeConflict(t *testing.T) {
	t.Parallel()
	t.Run("AfterLostRequest", func(t *testing.T) {
		t.Parallel()
		m := jstest.NewMiddle(t)
		b, other := m.Bucket(), m.Other()
		jstest.MustFill(t, b, 3)
		var late *nats.Msg
		m.OnRequests(func(request *nats.Msg) jstest.Action {
			if !jstest.IsAppend(request) || late != nil {
				return jstest.Pass
			}
			late = request // One handler at a time runs, and the test reads it after the append.
			jstest.MustAppend(t, other, 3, jstest.Commit(2, 4, 10))
			return jstest.Drop
		})
		jstest.WantError(t, b.Append(jstest.Context(t), 3, jstest.Commit(1, 4, 10)), journal.ErrConflict,
			"commit 4 of epoch 2")

		// What was lost turns up after all, and is refused by its expectation.
		m.Repeat(late)
		jstest.MustAppend(t, other, 4, jstest.Commit(2, 5, 10))
		m.Repeat(late)
		jstest.MustAppend(t, other, 5, jstest.Commit(2, 6, 10))
		got := jstest.MustReplay(t, other, 3)
		if want := "4: commit 4 of epoch 2\n5: commit 5 of epoch 2\n6: commit 6 of epoch 2"; got.Describe() != want {
			t.Errorf("the bucket holds\n%s\nwant\n%s", got.Describe(), want)
		}
	})
	t.Run("SameKey", func(t *testing.T) {
		t.Parallel()
		m := jstest.NewMiddle(t)
		b, other := m.Bucket(), m.Other()
		jstest.MustAppend(t, other, 0, jstest.Page(0, 0, 1, 11))
		jstest.WantError(t, b.Append(jstest.Context(t), 0, jstest.Page(0, 0, 1, 10)), journal.ErrConflict,
			"page p at commit 1")
	})
}

func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		disturb func(t *testing.T, m *jstest.Middle, other *jetstream.Bucket)
		words   string
	}{
		{"PlacePassed", func(t *testing.T, m *jstest.Middle, other *jetstream.Bucket) {
			t.Helper()
			// The record is stored and replaced before the writer looks.
			m.OnAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if !jstest.IsAppend(request) {
					return answer
				}
				jstest.MustAppend(t, other, 4, jstest.Page(0, 0, 5, 10))
				return nil
			})
		}, "filled and purged"},
		{"PlaceAtTheEndPurged", func(t *testing.T, m *jstest.Middle, _ *jetstream.Bucket) {
			t.Helper()
			lost := jstest.FirstOf(1, jstest.IsAppend)
			m.OnAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if !lost(request) {
					return answer
				}
				stream, err := jstest.MustJetStream(t, m.Direct).Stream(jstest.Context(t), jstest.StreamName)
				if err == nil {
					err = stream.Purge(jstest.Context(t), natsjs.WithPurgeSubject("$KV.HOLDFAST_0.state.p"))
				}
				if err != nil {
					t.Error(err)
				}
				return nil
			})
		}, "filled and purged"},
		{"StrangeAnswer", func(_ *testing.T, m *jstest.Middle, _ *jetstream.Bucket) {
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if jstest.IsAppend(request) {
					return jstest.Action{Answer: `{"stream":"OTHER","seq":4}`}
				}
				return jstest.Pass
			})
		}, `"OTHER"`},
		{"NoJSON", func(_ *testing.T, m *jstest.Middle, _ *jetstream.Bucket) {
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if jstest.IsAppend(request) {
					return jstest.Action{Answer: "thanks"}
				}
				return jstest.Pass
			})
		}, "unexpected answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := jstest.NewMiddle(t)
			b, other := m.Bucket(), m.Other()
			jstest.MustFill(t, b, 3)
			test.disturb(t, m, other)
			err := b.Append(jstest.Context(t), 3, jstest.Page(0, 0, 4, 10))
			jstest.WantError(t, err, journal.ErrUnknown, "position 4", "state.p", test.words)
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
		m := jstest.NewMiddle(t)
		b := m.Bucket()
		m.OnRequests(func(*nats.Msg) jstest.Action { return jstest.Drop })
		ctx, cancel := context.WithTimeout(t.Context(), 3*firstWait)
		defer cancel()
		err := b.Append(ctx, 0, jstest.Commit(1, 1, 10))
		jstest.WantError(t, err, journal.ErrUnknown)
		jstest.WantError(t, err, context.DeadlineExceeded)
	})
	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		m := jstest.NewMiddle(t)
		b := m.Bucket()
		ctx, cancel := context.WithCancel(t.Context())
		m.OnRequests(func(*nats.Msg) jstest.Action {
			cancel()
			return jstest.Drop
		})
		err := b.Append(ctx, 0, jstest.Commit(1, 1, 10))
		jstest.WantError(t, err, journal.ErrUnknown)
		jstest.WantError(t, err, context.Canceled)
		if m.Count("$KV.") != 1 {
			t.Error("sent again after the end")
		}
	})
	t.Run("NeverSent", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStart(t)
		b := jstest.MustOpen(t, jstest.MustDial(t, s.ClientURL()), 1).Bucket(0)
		s.Shutdown()
		ctx, cancel := context.WithTimeout(t.Context(), firstWait)
		defer cancel()
		// Either the client knows that it is disconnected, and nothing leaves, or it does not yet.
		err := b.Append(ctx, 0, jstest.Commit(1, 1, 10))
		if !errors.Is(err, journal.ErrNotStored) && !errors.Is(err, journal.ErrUnknown) {
			t.Errorf("got %v", err)
		}
		err = b.Append(ctx, 0, jstest.Commit(1, 1, 10))
		jstest.WantError(t, err, journal.ErrNotStored)
	})
}

// How long an append waits for its first answer, and for its second.
const (
	firstWait  = 200 * time.Millisecond
	secondWait = 400 * time.Millisecond
)
