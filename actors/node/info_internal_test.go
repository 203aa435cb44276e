package node

import (
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// Nodes offer together what each of them does, and of that what this version knows.
func TestFeaturesOfNodes(t *testing.T) {
	this := messages.FeaturesOfAll
	for _, test := range []struct {
		nodes [][]string
		want  []string
	}{
		{[][]string{this}, this},
		{[][]string{this, this, this}, this},
		{[][]string{this, nil}, nil},
		{[][]string{nil, this}, nil},
		{[][]string{{messages.FeatureTokens}, {messages.FeatureMinHold, messages.FeatureTokens}, this},
			[]string{messages.FeatureTokens}},
		{[][]string{append([]string{"later"}, this...), append([]string{"later"}, this...)}, this},
	} {
		var nodes []*peer.Announcement
		for _, features := range test.nodes {
			nodes = append(nodes, &peer.Announcement{Features: features})
		}
		if got := featuresOf(nodes); !slices.Equal(got, test.want) {
			t.Errorf("nodes with %v offer %v, want %v", test.nodes, got, test.want)
		}
	}
}
