package jetstream_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

// TestMain lets the test binary run as the processes that tests start and kill.
func TestMain(m *testing.M) {
	jstest.Main(m, map[string]func(string) error{"writer": playWriter})
}
