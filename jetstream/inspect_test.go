package jetstream_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages"
)

// A user without the right, and an account without JetStream, see nothing. Otherwise each bucket is shown.
func TestInspect(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, jstest.GoodConfig+`
		accounts {
			A { jetstream: enabled, users: [ { user: node, password: node }
				{ user: blind, password: blind, permissions: { publish: { deny: "$JS.API.STREAM.INFO.>" } } } ] }
			B { users: [ { user: other, password: other } ] }
		}`)
	nc := jstest.MustConnect(t, s, jstest.User("node"))
	jstest.MustOpen(t, nc, 2)
	all, err := jetstream.Inspect(jstest.Context(t), nc, "holdfast", messages.Shards{Count: 2})
	if err != nil || len(all) != 2 || all[0].Err != nil || all[0].Silent != nil || all[0].Replicas != 1 ||
		all[1].Shard != 1 || all[1].Bucket != "HOLDFAST_1" {
		t.Fatalf("%+v, %v", all, err)
	}
	all, err = jetstream.Inspect(jstest.Context(t), nc, "holdfast", messages.Shards{Count: 3})
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	jstest.WantError(t, all[1].Err, jetstream.ErrShards, "made with 2, not 3")
	jstest.WantError(t, all[2].Err, jetstream.ErrBucketLost, "HOLDFAST_2")
	for user, want := range map[string]error{"blind": jetstream.ErrForbidden, "other": jetstream.ErrNoJetStream} {
		_, err := jetstream.Inspect(jstest.Context(t), jstest.MustConnect(t, s, jstest.User(user)), "holdfast", messages.Shards{Count: 2})
		jstest.WantError(t, err, want)
	}
}
