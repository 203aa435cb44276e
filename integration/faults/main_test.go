//go:build linux

package faults_test

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

func TestMain(m *testing.M) {
	flag.Parse()
	var flags []string
	if *raced {
		flags = append(flags, "-race")
	}
	os.Exit(cluster.Main(m.Run, flags...))
}
