package contract

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// A shard whose bucket cannot be true is not served, and the log says which record is wrong and how.
// The other shards go on.
func TestCorruptBuckets(t *testing.T) {
	t.Parallel()
	newer := stand.Value(proto.Marshal(&journal.Record{Format: journal.Format + 1}))(t)
	for name, test := range map[string]struct {
		spoil func(t *testing.T, js natsjs.JetStream, bucket string)
		words []string
	}{
		"a record is garbage": {
			func(t *testing.T, js natsjs.JetStream, bucket string) {
				t.Helper()
				put(t, js, bucket, "journal.999", []byte("garbage"))
			},
			[]string{"journal.999", "position"},
		},
		"a record is of a newer version": {
			func(t *testing.T, js natsjs.JetStream, bucket string) {
				t.Helper()
				put(t, js, bucket, "journal.999", newer)
			},
			[]string{"journal.999", "newer", fmt.Sprint(journal.Format + 1)},
		},
		"a record is missing": {
			func(t *testing.T, js natsjs.JetStream, bucket string) {
				t.Helper()
				remove(t, js, bucket, "journal.3")
			},
			[]string{"commit 4", "follows commit 2"},
		},
		"a page is missing": {
			func(t *testing.T, js natsjs.JetStream, bucket string) {
				t.Helper()
				remove(t, js, bucket, "state.p")
			},
			[]string{"page p is missing"},
		},
		"a foreign key": {
			func(t *testing.T, js natsjs.JetStream, bucket string) {
				t.Helper()
				put(t, js, bucket, "mine", []byte("x"))
			},
			[]string{`mine`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := &logBook{}
			s := stand.Start(t, stand.Config{
				Shards: 2, Log: slog.New(slog.NewTextHandler(log, nil)),
				Tuning: tuningFor(name),
			})
			c := &client{t, s.Connect()}
			var resources [2]string // one in each shard
			for i := 0; resources[0] == "" || resources[1] == ""; i++ {
				key := fmt.Sprint("r", i)
				resources[messages.ShardOf(key, 2)] = key
			}
			for token := range uint64(200) {
				for _, r := range resources {
					c.want(messages.Status_GRANTED, token+1, "holdfast.acquire."+r, `{"owner":"a","ttl_ms":60000}`)
					c.want(messages.Status_RELEASED, 0, "holdfast.release."+r, `{"owner":"a"}`)
				}
			}
			s.StopNode()
			js := stand.Value(natsjs.New(s.Connect()))(t)
			test.spoil(t, js, messages.DefaultPrefix.Bucket(messages.Shard{Number: 0}))
			s.StartNode()

			m := c.send(&nats.Msg{Subject: "holdfast.get." + resources[0]})
			r := c.decode(messages.JSON, m)
			if r.GetStatus() != messages.Status_UNAVAILABLE || m.Header.Get(messages.HeaderServiceErrorCode) != "503" {
				t.Errorf("the spoilt shard answers %v", r)
			}
			for _, word := range test.words {
				if !strings.Contains(r.GetError(), word) || !strings.Contains(log.String(), word) {
					t.Errorf("%q is not said in the answer %q, or not in the log", word, r.GetError())
				}
			}
			c.want(messages.Status_GRANTED, 201, "holdfast.acquire."+resources[1], `{"owner":"a","ttl_ms":60000}`)
		})
	}
}

// tuningFor keeps the journal whole, or compacts it, so that there is a page to be missed.
func tuningFor(name string) actors.Tuning {
	if name == "a page is missing" {
		return actors.Tuning{CompactCommits: 100, History: 1}
	}
	return actors.Tuning{}
}

func put(t *testing.T, js natsjs.JetStream, bucket, key string, data []byte) {
	t.Helper()
	stand.Value(js.Publish(t.Context(), "$KV."+bucket+"."+key, data))(t)
}

func remove(t *testing.T, js natsjs.JetStream, bucket, key string) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "KV_"+bucket)
	if err == nil {
		err = stream.Purge(t.Context(), natsjs.WithPurgeSubject("$KV."+bucket+"."+key))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// logBook keeps what is logged.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

var _ io.Writer = (*logBook)(nil)

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
