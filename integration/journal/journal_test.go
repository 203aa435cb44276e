// Package journal holds the real bucket against what the actors ask of a journal.
package journal

import (
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

var _ actors.Journal = (*jetstream.Bucket)(nil)

func TestBucketConforms(t *testing.T) {
	journaltest.Conformance(t, func(t *testing.T) journaltest.Journal {
		t.Helper()
		s, err := embedded.Start(embedded.Config{
			Name: "n1", Listen: "127.0.0.1:-1", DataDir: t.TempDir(), Log: testLog(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Shutdown)
		nc, err := s.Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		d, err := jetstream.OpenDeployment(t.Context(), nc, jetstream.DeploymentConfig{
			Prefix: messages.DefaultPrefix, Shards: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		return d.Bucket(0)
	})
}
