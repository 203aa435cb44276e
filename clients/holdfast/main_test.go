package holdfast_test

import (
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/internal/testserver"
)

// The tests of the client that need a node are in integration/client; here are those of its parts, and the
// examples.
var (
	examples testing.TB
	binary   testserver.Binary
	// url is the address of a node, for the examples that show how to connect.
	url string
)

func TestMain(m *testing.M) {
	clock.Suspend(time.Hour) // so that a mixture with the moments of time.Now is noticed
	os.Exit(fencetest.Main(m, func(tb testing.TB) {
		tb.Helper()
		examples, binary = tb, testserver.Build(tb)
		url = binary.Start(tb)
	}))
}

// example returns a client for an example that does not show how to get one. Each has a node of its own,
// so that tokens begin at 1.
func example() *holdfast.Client {
	nc, err := nats.Connect(binary.Start(examples))
	if err != nil {
		panic(err)
	}
	client, err := holdfast.New(nc)
	if err != nil {
		panic(err)
	}
	return client
}
