//go:build linux

package cluster_test

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/stand"
)

func TestMain(m *testing.M) {
	if os.Getenv("HOLDFAST_CLUSTER_VICTIM") != "" { // it is killed before it would need the binary
		os.Exit(m.Run())
	}
	flag.Parse()
	stand.AtOnce(6)
	os.Exit(cluster.Main(m.Run))
}
