//go:build !linux

package monitoring_test

import (
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

func TestMain(m *testing.M) { os.Exit(stand.Main(m)) }
