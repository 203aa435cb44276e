package actors

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// What the registry has is found in fewer maps, too.
func TestJoinMaps(t *testing.T) {
	t.Parallel()
	system := actor.NewActorSystem()
	t.Cleanup(system.Shutdown)
	pids := []*actor.PID{actor.NewPID("nonhost", "deadletter")}
	for range 100 {
		pids = append(pids, system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {})))
	}
	joinMaps(system.ProcessRegistry.LocalPIDs)
	for _, pid := range pids {
		if _, ok := system.ProcessRegistry.GetLocal(pid.Id); !ok {
			t.Errorf("%s is not found", pid.Id)
		}
	}
	if n := len(system.ProcessRegistry.LocalPIDs.LocalPIDs); n != registryMaps {
		t.Errorf("%d maps, want %d", n, registryMaps)
	}
}
