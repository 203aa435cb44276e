// Package journal holds the real bucket against what the actors ask of a journal.
package journal

import (
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

var _ actors.Journal = (*jetstream.Bucket)(nil)

func TestBucketConforms(t *testing.T) {
	journaltest.Conformance(t, func(t *testing.T) journaltest.Journal {
		t.Helper()
		nc := stand.StartNATS(t, embedded.Config{}).Connect(t)
		d := stand.Value(jetstream.OpenDeployment(t.Context(), nc, jetstream.DeploymentConfig{
			Prefix: messages.DefaultPrefix, Shards: 1,
		}))(t)
		return d.Bucket(0)
	})
}
