package fencekv_test

import (
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
	"github.com/holdfast-io/holdfast/clients/internal/testserver"
)

// url is the address of the NATS server that the example uses. All other tests that need a server are
// in integration/fencekv.
var url string

func TestMain(m *testing.M) {
	os.Exit(fencetest.Main(m, func(tb testing.TB) {
		tb.Helper()
		url = testserver.Build(tb).Start(tb)
	}))
}
