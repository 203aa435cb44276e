package monitoring_test

import (
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/stand"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(func() int { return stand.Main(m) })) }
