package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func mustStream(tb testing.TB, nc *nats.Conn) natsjs.Stream {
	tb.Helper()
	stream, err := jstest.MustJetStream(tb, nc).Stream(jstest.Context(tb), jstest.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	return stream
}

// mustErase removes by hand what an operator could.
func mustErase(tb testing.TB, nc *nats.Conn, key string) {
	tb.Helper()
	if err := mustStream(tb, nc).Purge(jstest.Context(tb), natsjs.WithPurgeSubject("$KV.HOLDFAST_0."+key)); err != nil {
		tb.Fatal(err)
	}
}

func wantStored(tb testing.TB, got jstest.Stored, last uint64, lines ...string) {
	tb.Helper()
	if want := strings.Join(lines, "\n"); got.Describe() != want || got.Last != last {
		tb.Errorf("replayed\n%s\nup to %d, want\n%s\nup to %d", got.Describe(), got.Last, want, last)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	t.Run("Empty", func(t *testing.T) {
		t.Parallel()
		b, _ := jstest.MustBucket(t)
		wantStored(t, jstest.MustReplay(t, b, 0), 0)
	})
	t.Run("Behind", func(t *testing.T) {
		t.Parallel()
		b, _ := jstest.MustBucket(t)
		jstest.MustFill(t, b, 3)
		wantStored(t, jstest.MustReplay(t, b, 1), 3, "2: commit 2 of epoch 1", "3: commit 3 of epoch 1")
		wantStored(t, jstest.MustReplay(t, b, 3), 3)
	})
	t.Run("WithGaps", func(t *testing.T) {
		t.Parallel()
		b, nc := jstest.MustBucket(t)
		jstest.MustFill(t, b, 3)
		jstest.MustAppend(t, b, 3, jstest.Page(0, 0, 3, 10))
		jstest.MustAppend(t, b, 4, jstest.Commit(1, 4, 10))
		jstest.MustAppend(t, b, 5, jstest.Page(0, 0, 4, 10))
		jstest.MustAppend(t, b, 6, jstest.Commit(1, 5, 10))
		mustErase(t, nc, "journal.2")
		wantStored(t, jstest.MustReplay(t, b, 0), 7, "1: commit 1 of epoch 1", "3: commit 3 of epoch 1",
			"5: commit 4 of epoch 1", "6: page p at commit 4", "7: commit 5 of epoch 1")
	})
	t.Run("NotWhatComesLater", func(t *testing.T) {
		t.Parallel()
		b, _ := jstest.MustBucket(t)
		jstest.MustFill(t, b, 3)
		var seen []uint64
		last, err := b.Replay(jstest.Context(t), 0, func(position uint64, _ *journal.Record) error {
			jstest.MustAppend(t, b, 3+uint64(len(seen)), jstest.Commit(1, 4+uint64(len(seen)), 10))
			seen = append(seen, position)
			return nil
		})
		if err != nil || last != 3 || len(seen) != 3 {
			t.Errorf("read %v up to %d, error %v", seen, last, err)
		}
	})
	t.Run("MoreThanIsReadAhead", func(t *testing.T) {
		t.Parallel()
		b, _ := jstest.MustBucket(t)
		const pages = 100
		for i := range uint32(pages) {
			jstest.MustAppend(t, b, uint64(i), jstest.Page(i, 32, 1, 250_000))
		}
		if got := jstest.MustReplay(t, b, 0); len(got.Records) != pages || got.Last != pages {
			t.Errorf("read %d up to %d", len(got.Records), got.Last)
		}
	})
	t.Run("NoReaderIsLeft", func(t *testing.T) {
		t.Parallel()
		b, nc := jstest.MustBucket(t)
		jstest.MustFill(t, b, 3)
		jstest.MustReplay(t, b, 0)
		stream := mustStream(t, nc)
		jstest.WaitFor(t, "its consumer is removed", func() bool { // it would be after half a minute in any case
			info, err := stream.Info(jstest.Context(t))
			return err == nil && info.State.Consumers == 0
		})
	})
}

// What stood at the end may be gone, and the stream remembers only that it did.
func TestReplayVanishedTail(t *testing.T) {
	t.Parallel()
	t.Run("Tail", func(t *testing.T) {
		t.Parallel()
		b, nc := jstest.MustBucket(t)
		jstest.MustFill(t, b, 3)
		jstest.MustAppend(t, b, 3, jstest.Page(0, 0, 3, 10))
		mustErase(t, nc, "state.p")
		wantStored(t, jstest.MustReplay(t, b, 0), 4, "1: commit 1 of epoch 1", "2: commit 2 of epoch 1",
			"3: commit 3 of epoch 1")
		jstest.MustAppend(t, b, 4, jstest.Commit(1, 4, 10))
	})
	t.Run("Everything", func(t *testing.T) {
		t.Parallel()
		b, nc := jstest.MustBucket(t)
		jstest.MustFill(t, b, 3)
		mustErase(t, nc, ">")
		wantStored(t, jstest.MustReplay(t, b, 0), 3)
		jstest.MustAppend(t, b, 3, jstest.Commit(1, 4, 10))
		wantStored(t, jstest.MustReplay(t, b, 0), 4, "4: commit 4 of epoch 1")
	})
	t.Run("WhileReading", func(t *testing.T) {
		t.Parallel()
		b, nc := jstest.MustBucket(t)
		for i := range uint32(60) { // twice what is read ahead
			jstest.MustAppend(t, b, uint64(i), jstest.Page(i, 32, 1, 250_000))
		}
		count := 0
		last, err := b.Replay(jstest.Context(t), 0, func(uint64, *journal.Record) error {
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
		b, _ := jstest.MustBucket(t)
		for i := range uint32(60) {
			jstest.MustAppend(t, b, uint64(i), jstest.Page(i, 32, 1, 250_000))
		}
		count := 0
		last, err := b.Replay(jstest.Context(t), 0, func(uint64, *journal.Record) error {
			if count == 0 {
				for i := range uint32(60) {
					jstest.MustAppend(t, b, 60+uint64(i), jstest.Page(i, 32, 2, 10))
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
	b, _ := jstest.MustBucket(t)
	jstest.MustFill(t, b, 3)
	t.Run("Apply", func(t *testing.T) {
		full := errors.New("full")
		count := 0
		_, err := b.Replay(jstest.Context(t), 0, func(uint64, *journal.Record) error {
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
			jstest.WantError(t, err, context.Canceled, jstest.BucketName)
		}
		_, err = jstest.Replay(ctx, b, 0)
		jstest.WantError(t, err, context.Canceled, jstest.BucketName)
	})
	t.Run("BeforeTheStart", func(t *testing.T) {
		_, err := jstest.Replay(jstest.Context(t), b, 4)
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
	newer := jstest.Commit(1, 2, 10)
	newer.Format = journal.Format + 1
	for _, test := range []struct {
		name, key string
		header    nats.Header
		data      []byte
		words     string
	}{
		{"Garbage", "journal.2", nil, []byte("\xff\xff\xff"), "not a record"},
		{"Cut", "journal.2", nil, bytesOf(jstest.Commit(1, 2, 10))[:20], "not a record"},
		{"Empty", "journal.2", nil, nil, "no format"},
		{"NewerFormat", "journal.2", nil, bytesOf(newer), "upgrade"},
		{"NoBody", "journal.2", nil, bytesOf(&journal.Record{Format: 1}), "neither a commit nor a page"},
		{"OtherNumber", "journal.2", nil, bytesOf(jstest.Commit(1, 3, 10)), "belongs at journal.3"},
		{"OtherPage", "state.p01", nil, bytesOf(jstest.Page(0, 0, 1, 10)), "belongs at state.p"},
		{"PageInJournal", "journal.2", nil, bytesOf(jstest.Page(0, 0, 1, 10)), "belongs at state.p"},
		{"ForeignKey", "notes", nil, []byte("remember the milk"), "not a key of Holdfast"},
		{"ForeignKeyWithRecord", "journal2", nil, bytesOf(jstest.Commit(1, 2, 10)), "not a key of Holdfast"},
		{"Deleted", "journal.1", nats.Header{"KV-Operation": {"DEL"}}, nil, "DEL mark"},
		{"Purged", "journal.1", nats.Header{"KV-Operation": {"PURGE"}, "Nats-Rollup": {"sub"}}, nil, "PURGE mark"},
		{"Expired", "journal.1", nats.Header{"Nats-Marker-Reason": {"MaxAge"}}, nil, "MaxAge"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, nc := jstest.MustBucket(t)
			jstest.MustFill(t, b, 1)
			message := &nats.Msg{Subject: "$KV.HOLDFAST_0." + test.key, Header: test.header, Data: test.data}
			if _, err := jstest.MustJetStream(t, nc).PublishMsg(jstest.Context(t), message); err != nil {
				t.Fatal(err)
			}
			_, err := jstest.Replay(jstest.Context(t), b, 0)
			jstest.WantError(t, err, journal.ErrCorrupt, jstest.BucketName, "position 2", test.key, test.words)
			var place *jetstream.PlaceError
			if !errors.As(err, &place) || place.Key != test.key {
				t.Errorf("%#v does not name the key", err)
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

// isDelivery reports whether the answer to a pull is a stored message.
func isDelivery(answer *nats.Msg) bool {
	return strings.HasPrefix(answer.Reply, "$JS.ACK.")
}

// Each of these disturbs the reading, and nothing is left out or read twice.
func TestReplayDisturbed(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(t *testing.T, m *jstest.Middle){
		"MessageLost": func(_ *testing.T, m *jstest.Middle) {
			third := jstest.FirstOf(3, isDelivery)
			count := 0
			m.OnAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if third(answer) {
					if count++; count == 3 {
						return nil
					}
				}
				return answer
			})
		},
		"EndLost": func(_ *testing.T, m *jstest.Middle) {
			lost := false
			m.OnAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if isDelivery(answer) && strings.Contains(answer.Reply, ".20.20.") && !lost {
					lost = true
					return nil
				}
				return answer
			})
		},
		"NoAnswers": func(_ *testing.T, m *jstest.Middle) {
			dropped := jstest.FirstOf(1, isNext)
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if dropped(request) {
					return jstest.Drop
				}
				return jstest.Pass
			})
		},
		"ConsumerNotMade": func(_ *testing.T, m *jstest.Middle) {
			refused := jstest.FirstOf(3, isCreateConsumer)
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if refused(request) {
					return jstest.Refuse(503, 10008, "JetStream system temporarily unavailable")
				}
				return jstest.Pass
			})
		},
		"ConsumerRemoved": func(t *testing.T, m *jstest.Middle) {
			t.Helper()
			delivered := jstest.FirstOf(1, isDelivery)
			m.OnAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if delivered(answer) {
					consumer := strings.Split(answer.Reply, ".")[3]
					if err := mustStream(t, m.Direct).DeleteConsumer(jstest.Context(t), consumer); err != nil {
						t.Error(err)
					}
				}
				return answer
			})
		},
		"NobodyKnowsTheState": func(_ *testing.T, m *jstest.Middle) {
			refused := jstest.FirstOf(2, jstest.IsInfo)
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if refused(request) {
					return jstest.Drop
				}
				return jstest.Pass
			})
		},
		// A consumer lives on one replica. One that is behind believes that there is no more to come.
		"ReplicaBehind": func(_ *testing.T, m *jstest.Middle) {
			m.OnAnswers(func(_, answer *nats.Msg) *nats.Msg {
				if isDelivery(answer) {
					answer.Reply = answer.Reply[:strings.LastIndexByte(answer.Reply, '.')] + ".0"
				}
				return answer
			})
		},
		"ReplicaStopped": func(_ *testing.T, m *jstest.Middle) {
			var stopped string
			m.OnAnswers(func(_, answer *nats.Msg) *nats.Msg {
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
		"LeaderBehind": func(_ *testing.T, m *jstest.Middle) {
			look := jstest.FirstOf(1, jstest.IsLook)
			info := 0
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				switch {
				case look(request):
					return jstest.Refuse(404, 10037, "no message found")
				case isNext(request) && m.Count("$JS.API.CONSUMER.CREATE.") < 2:
					return jstest.Drop
				}
				return jstest.Pass
			})
			m.OnAnswers(func(request, answer *nats.Msg) *nats.Msg {
				if jstest.IsInfo(request) {
					// The first shows the end; the second comes from one that has not received it.
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
			m := jstest.NewMiddle(t)
			b := m.Bucket()
			jstest.MustFill(t, b, 20)
			disturb(t, m)
			got := jstest.MustReplay(t, b, 0)
			if got.Last != 20 || len(got.Records) != 20 {
				t.Fatalf("replayed\n%s\nup to %d", got.Describe(), got.Last)
			}
			for i, position := range got.Positions {
				if position != uint64(i)+1 {
					t.Errorf("position %d comes as number %d", position, i)
				}
			}
		})
	}
}

func TestReplayForbidden(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, `
		listen: "127.0.0.1:-1"
		jetstream { store_dir: "$DIR", sync_interval: always }
		authorization { users: [
			{ user: node, password: node },
			{ user: writer, password: writer, permissions: { publish: { deny: ["$JS.API.CONSUMER.>"] } } },
		] }`)
	jstest.MustFill(t, jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("node")), 1).Bucket(0), 3)
	b := jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("writer")), 1).Bucket(0)
	_, err := jstest.Replay(jstest.Context(t), b, 0)
	jstest.WantError(t, err, jetstream.ErrForbidden, jstest.BucketName, "CONSUMER.CREATE")
}

func TestReplayContextEndsWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	m := jstest.NewMiddle(t)
	b := m.Bucket()
	jstest.MustFill(t, b, 3)
	ctx, cancel := context.WithCancel(t.Context())
	m.OnRequests(func(request *nats.Msg) jstest.Action {
		if !isNext(request) {
			return jstest.Pass
		}
		cancel()
		return jstest.Drop
	})
	_, err := jstest.Replay(ctx, b, 0)
	jstest.WantError(t, err, context.Canceled, jstest.BucketName, "up to position 0 of 3")
}
