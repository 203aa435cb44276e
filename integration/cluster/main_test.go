//go:build linux

package cluster_test

import (
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

func TestMain(m *testing.M) {
	if os.Getenv("HOLDFAST_CLUSTER_VICTIM") != "" { // it is killed before it would need the binary
		os.Exit(m.Run())
	}
	os.Exit(cluster.Main(m.Run))
}
