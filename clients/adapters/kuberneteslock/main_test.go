package kuberneteslock_test

import (
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
)

func TestMain(m *testing.M) { os.Exit(adaptertest.Main(m, "test/job", operate)) }
