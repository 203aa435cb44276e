package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func mustStream(tb testing.TB, nc *nats.Conn) natsjs.Stream {
	tb.Helper()
	stream, err := mustJetStream(tb, nc).Stream(testContext(tb), streamName)
	if err != nil {
		tb.Fatal(err)
	}
	return stream
}

// mustErase removes by hand what an operator could.
func mustErase(tb testing.TB, nc *nats.Conn, key string) {
	tb.Helper()
	if err := mustStream(tb, nc).Purge(testContext(tb), natsjs.WithPurgeSubject("$KV.HOLDFAST_0."+key)); err != nil {
		tb.Fatal(err)
	}
}

func wantStored(tb testing.TB, got stored, last uint64, lines ...string) {
	tb.Helper()
	if want := strings.Join(lines, "\n"); got.describe() != want || got.last != last {
		tb.Errorf("replayed\n%s\nup to %d, want\n%s\nup to %d", got.describe(), got.last, want, last)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	t.Run("Empty", func(t *testing.T) {
		t.Parallel()
		b, _ := mustBucket(t)
		wantStored(t, mustReplay(t, b, 0), 0)
	})
	t.Run("Behind", func(t *testing.T) {
		t.Parallel()
		b, _ := mustBucket(t)
		mustFill(t, b, 3)
		wantStored(t, mustReplay(t, b, 1), 3, "2: commit 2 of epoch 1", "3: commit 3 of epoch 1")
		wantStored(t, mustReplay(t, b, 3), 3)
	})
	t.Run("WithGaps", func(t *testing.T) {
		t.Parallel()
		b, nc := mustBucket(t)
		mustFill(t, b, 3)
		mustAppend(t, b, 3, page(0, 0, 3, 10))
		mustAppend(t, b, 4, commit(1, 4, 10))
		mustAppend(t, b, 5, page(0, 0, 4, 10))
		mustAppend(t, b, 6, commit(1, 5, 10))
		mustErase(t, nc, "journal.2")
		wantStored(t, mustReplay(t, b, 0), 7, "1: commit 1 of epoch 1", "3: commit 3 of epoch 1",
			"5: commit 4 of epoch 1", "6: page p at commit 4", "7: commit 5 of epoch 1")
	})
	t.Run("NotWhatComesLater", func(t *testing.T) {
		t.Parallel()
		b, _ := mustBucket(t)
		mustFill(t, b, 3)
		var seen []uint64
		last, err := b.Replay(testContext(t), 0, func(position uint64, _ *journal.Record) error {
			mustAppend(t, b, 3+uint64(len(seen)), commit(1, 4+uint64(len(seen)), 10))
			seen = append(seen, position)
			return nil
		})
		if err != nil || last != 3 || len(seen) != 3 {
			t.Errorf("read %v up to %d, error %v", seen, last, err)
		}
	})
	t.Run("MoreThanIsReadAhead", func(t *testing.T) {
		t.Parallel()
		b, _ := mustBucket(t)
		const pages = 100
		for i := range uint32(pages) {
			mustAppend(t, b, uint64(i), page(i, 32, 1, 250_000))
		}
		if got := mustReplay(t, b, 0); len(got.records) != pages || got.last != pages {
			t.Errorf("read %d up to %d", len(got.records), got.last)
		}
	})
	t.Run("NoReaderIsLeft", func(t *testing.T) {
		t.Parallel()
		b, nc := mustBucket(t)
		mustFill(t, b, 3)
		mustReplay(t, b, 0)
		stream := mustStream(t, nc)
		waitFor(t, "its consumer is removed", func() bool { // it would be after half a minute in any case
			info, err := stream.Info(testContext(t))
			return err == nil && info.State.Consumers == 0
		})
	})
}

// What stood at the end may be gone, and the stream remembers only that it did.
func TestReplayVanishedTail(t *testing.T) {
	t.Parallel()
	t.Run("Tail", func(t *testing.T) {
		t.Parallel()
		b, nc := mustBucket(t)
		mustFill(t, b, 3)
		mustAppend(t, b, 3, page(0, 0, 3, 10))
		mustErase(t, nc, "state.p")
		wantStored(t, mustReplay(t, b, 0), 4, "1: commit 1 of epoch 1", "2: commit 2 of epoch 1", "3: commit 3 of epoch 1")
		mustAppend(t, b, 4, commit(1, 4, 10))
	})
	t.Run("Everything", func(t *testing.T) {
		t.Parallel()
		b, nc := mustBucket(t)
		mustFill(t, b, 3)
		mustErase(t, nc, ">")
		wantStored(t, mustReplay(t, b, 0), 3)
		mustAppend(t, b, 3, commit(1, 4, 10))
		wantStored(t, mustReplay(t, b, 0), 4, "4: commit 4 of epoch 1")
	})
	t.Run("WhileReading", func(t *testing.T) {
		t.Parallel()
		b, nc := mustBucket(t)
		for i := range uint32(60) { // twice what is read ahead
			mustAppend(t, b, uint64(i), page(i, 32, 1, 250_000))
		}
		count := 0
		last, err := b.Replay(testContext(t), 0, func(uint64, *journal.Record) error {
			if count == 0 {
				mustErase(t, nc, ">")
			}
			count++
			return nil
		})
		if err != nil || last != 60 || count == 60 {
			t.Errorf("read %d up to %d, error %v", count, last, err)
		}
	})
	t.Run("ReplacedWhileReading", func(t *testing.T) {
		t.Parallel()
		b, _ := mustBucket(t)
		for i := range uint32(60) {
			mustAppend(t, b, uint64(i), page(i, 32, 1, 250_000))
		}
		count := 0
		last, err := b.Replay(testContext(t), 0, func(uint64, *journal.Record) error {
			if count == 0 {
				for i := range uint32(60) {
					mustAppend(t, b, 60+uint64(i), page(i, 32, 2, 10))
				}
			}
			count++
			return nil
		})
		if err != nil || last != 60 || count == 60 {
			t.Errorf("read %d up to %d, error %v", count, last, err)
		}
	})
}

func TestReplayEnds(t *testing.T) {
	t.Parallel()
	b, _ := mustBucket(t)
	mustFill(t, b, 3)
	t.Run("Apply", func(t *testing.T) {
		full := errors.New("full")
		count := 0
		_, err := b.Replay(testContext(t), 0, func(uint64, *journal.Record) error {
			count++
			return full
		})
		if err != full || count != 1 { //nolint:errorlint // It is handed on as it is.
			t.Errorf("error %v after %d", err, count)
		}
	})
	t.Run("Context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := b.Replay(ctx, 0, func(uint64, *journal.Record) error {
			cancel()
			return nil
		})
		// It may have had all three in hand.
		if err != nil {
			wantError(t, err, context.Canceled, bucketName)
		}
		_, err = replay(ctx, b, 0)
		wantError(t, err, context.Canceled, bucketName)
	})
	t.Run("BeforeTheStart", func(t *testing.T) {
		_, err := replay(testContext(t), b, 4)
		if err == nil || !strings.Contains(err.Error(), "ends at position 3, before 4") {
			t.Errorf("error %v", err)
		}
	})
}

func TestReplayCorrupt(t *testing.T) {
	t.Parallel()
	bytesOf := func(r *journal.Record) []byte {
		data, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	newer := commit(1, 2, 10)
	newer.Format = journal.Format + 1
	for _, test := range []struct {
		name, key string
		header    nats.Header
		data      []byte
		words     string
	}{
		{"Garbage", "journal.2", nil, []byte("\xff\xff\xff"), "not a record"},
		{"Cut", "journal.2", nil, bytesOf(commit(1, 2, 10))[:20], "not a record"},
		{"Empty", "journal.2", nil, nil, "no format"},
		{"NewerFormat", "journal.2", nil, bytesOf(newer), "upgrade"},
		{"NoBody", "journal.2", nil, bytesOf(&journal.Record{Format: 1}), "neither a commit nor a page"},
		{"OtherNumber", "journal.2", nil, bytesOf(commit(1, 3, 10)), "belongs at journal.3"},
		{"OtherPage", "state.p01", nil, bytesOf(page(0, 0, 1, 10)), "belongs at state.p"},
		{"PageInJournal", "journal.2", nil, bytesOf(page(0, 0, 1, 10)), "belongs at state.p"},
		{"ForeignKey", "notes", nil, []byte("remember the milk"), "no key of Holdfast's"},
		{"ForeignKeyWithRecord", "journal2", nil, bytesOf(commit(1, 2, 10)), "no key of Holdfast's"},
		{"Deleted", "journal.1", nats.Header{"KV-Operation": {"DEL"}}, nil, "DEL mark"},
		{"Purged", "journal.1", nats.Header{"KV-Operation": {"PURGE"}, "Nats-Rollup": {"sub"}}, nil, "PURGE mark"},
		{"Expired", "journal.1", nats.Header{"Nats-Marker-Reason": {"MaxAge"}}, nil, "MaxAge"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, nc := mustBucket(t)
			mustFill(t, b, 1)
			message := &nats.Msg{Subject: "$KV.HOLDFAST_0." + test.key, Header: test.header, Data: test.data}
			if _, err := mustJetStream(t, nc).PublishMsg(testContext(t), message); err != nil {
				t.Fatal(err)
			}
			_, err := replay(testContext(t), b, 0)
			wantError(t, err, journal.ErrCorrupt, bucketName, "position 2", test.key, test.words)
			var place *jetstream.PlaceError
			if !errors.As(err, &place) || place.Key != test.key {
				t.Errorf("%#v does not tell the key", err)
			}
		})
	}
}

func isCreateConsumer(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.CREATE.")
}

func isNext(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.MSG.NEXT.")
}

// isDelivery tells whether the answer to a pull is a stored message.
func isDelivery(answer *nats.Msg) bool {
	return strings.HasPrefix(answer.Reply, "$JS.ACK.")
}

// Each of these disturbs the reading, and nothing is left out or read twice.
func TestReplayDisturbed(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(t *testing.T, m *middle){
		"MessageLost": func(_ *testing.T, m *middle) {
			third := firstOf(3, isDelivery)
			count := 0
			m.onAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if third(answer) {
					if count++; count == 3 {
						return nil
					}
				}
				return answer
			})
		},
		"EndLost": func(_ *testing.T, m *middle) {
			lost := false
			m.onAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if isDelivery(answer) && strings.Contains(answer.Reply, ".20.20.") && !lost {
					lost = true
					return nil
				}
				return answer
			})
		},
		"NoAnswers": func(_ *testing.T, m *middle) {
			dropped := firstOf(1, isNext)
			m.onRequests(func(request *nats.Msg) action {
				if dropped(request) {
					return drop
				}
				return pass
			})
		},
		"ConsumerNotMade": func(_ *testing.T, m *middle) {
			refused := firstOf(3, isCreateConsumer)
			m.onRequests(func(request *nats.Msg) action {
				if refused(request) {
					return refuse(503, 10008, "JetStream system temporarily unavailable")
				}
				return pass
			})
		},
		"ConsumerRemoved": func(t *testing.T, m *middle) {
			t.Helper()
			delivered := firstOf(1, isDelivery)
			m.onAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if delivered(answer) {
					consumer := strings.Split(answer.Reply, ".")[3]
					if err := mustStream(t, m.direct).DeleteConsumer(testContext(t), consumer); err != nil {
						t.Error(err)
					}
				}
				return answer
			})
		},
		"NobodyKnowsTheState": func(_ *testing.T, m *middle) {
			refused := firstOf(2, isInfo)
			m.onRequests(func(request *nats.Msg) action {
				if refused(request) {
					return drop
				}
				return pass
			})
		},
		// A consumer lives on one replica. One that is behind believes that there is no more to come.
		"ReplicaBehind": func(_ *testing.T, m *middle) {
			m.onAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if isDelivery(answer) {
					answer.Reply = answer.Reply[:strings.LastIndexByte(answer.Reply, '.')] + ".0"
				}
				return answer
			})
		},
		"ReplicaStopped": func(_ *testing.T, m *middle) {
			var stopped string
			m.onAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if !isDelivery(answer) {
					return answer
				}
				fields := strings.Split(answer.Reply, ".")
				if consumer := fields[3]; stopped == "" {
					stopped = consumer
				} else if consumer == stopped {
					return nil
				}
				fields[len(fields)-1] = "0"
				answer.Reply = strings.Join(fields, ".")
				return answer
			})
		},
		"LeaderBehind": func(_ *testing.T, m *middle) {
			look := firstOf(1, isLook)
			info := 0
			m.onRequests(func(request *nats.Msg) action {
				switch {
				case look(request):
					return refuse(404, 10037, "no message found")
				case isNext(request) && m.count("$JS.API.CONSUMER.CREATE.") < 2:
					return drop
				}
				return pass
			})
			m.onAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if isInfo(request) {
					// The first tells the end; the second comes from one that has not heard of it.
					if info++; info == 2 {
						answer.Data = []byte(strings.Replace(string(answer.Data), `"last_seq":20`, `"last_seq":5`, 1))
					}
				}
				return answer
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMiddle(t)
			b := m.bucket()
			mustFill(t, b, 20)
			disturb(t, m)
			got := mustReplay(t, b, 0)
			if got.last != 20 || len(got.records) != 20 {
				t.Fatalf("replayed\n%s\nup to %d", got.describe(), got.last)
			}
			for i, position := range got.positions {
				if position != uint64(i)+1 {
					t.Errorf("position %d comes as number %d", position, i)
				}
			}
		})
	}
}

func TestReplayForbidden(t *testing.T) {
	t.Parallel()
	s := mustStartFile(t, `
		listen: "127.0.0.1:-1"
		jetstream { store_dir: "$DIR", sync_interval: always }
		authorization { users: [
			{ user: node, password: node },
			{ user: writer, password: writer, permissions: { publish: { deny: ["$JS.API.CONSUMER.>"] } } },
		] }`)
	mustFill(t, mustOpen(t, mustConnect(t, s, natsUser("node")), 1).Bucket(0), 3)
	b := mustOpen(t, mustConnect(t, s, natsUser("writer")), 1).Bucket(0)
	_, err := replay(testContext(t), b, 0)
	wantError(t, err, jetstream.ErrForbidden, bucketName, "CONSUMER.CREATE")
}

func TestReplayContextEndsWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	m := newMiddle(t)
	b := m.bucket()
	mustFill(t, b, 3)
	ctx, cancel := context.WithCancel(t.Context())
	m.onRequests(func(request *nats.Msg) action {
		if !isNext(request) {
			return pass
		}
		cancel()
		return drop
	})
	_, err := replay(ctx, b, 0)
	wantError(t, err, context.Canceled, bucketName, "up to position 0 of 3")
}
