package jetstream

import (
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages/blindtest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// A stored message is a record under its own key, or is refused. A marker is always refused.
func FuzzStoredMessage(f *testing.F) {
	target := blindtest.New(f)
	r := &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{
		Commit: &journal.Commit{Number: 3, Epoch: 1}}}
	key, data, err := journal.Encode(r)
	if err != nil {
		f.Fatal(err)
	}
	target.Add(key, "", "", data)
	target.Add(key, operationHeader, "DEL", data)
	target.Add(key, reasonHeader, "MaxAge", data)
	target.Fuzz(func(t *testing.T, key, name, value string, data []byte) {
		r, err := decode(key, nats.Header{name: {value}}, data)
		if err != nil {
			if r != nil {
				t.Errorf("%v beside the error %v", r, err)
			}
			return
		}
		if (name == operationHeader || name == reasonHeader) && value != "" {
			t.Errorf("a marker is read as %v", r)
		}
		if again, encoded, err := journal.Encode(r); err != nil || again != key {
			t.Errorf("%q is encoded under %q, %v", key, again, err)
		} else if back, err := journal.Decode(key, encoded); err != nil || !proto.Equal(r, back) {
			t.Errorf("%v reads back as %v, %v", r, back, err)
		}
	})
}
