package embedded_test

import (
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

// TestMain lets the test binary run as the processes that tests start.
func TestMain(m *testing.M) {
	os.Exit(jstest.Main(m, map[string]func(string) error{"unprivileged": playUnprivileged}))
}
