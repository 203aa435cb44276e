//go:build linux

package faults_test

import (
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m.Run)) }
