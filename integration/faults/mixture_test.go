//go:build linux

package faults_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/linear"
)

// An owner is paused, one is cut off, one is killed, and all lose their power: no client receives what is not so.
// Without root, processes alone are hurt.
func TestMixture(t *testing.T) {
	cfg := config{
		clients: 48, resources: 64, ephemeral: 2, hot: 10, grantable: patience, loopback: os.Geteuid() != 0,
		keep: kept(),
		floors: linear.Floors{
			Operations: 500, Grants: 50, HandOffs: 20, Waited: 5, Extensions: 5, Releases: 20, Expiries: 1, Events: 100,
		},
	}
	schedule := mixture
	if cfg.loopback {
		t.Log("networks and disks can only be broken as root; processes alone are hurt")
		schedule = processes
	}
	one := trial{T: t, config: cfg, seed: 1, schedule: func(uint64,
		*cluster.Cluster) cluster.Schedule {
		return schedule
	}}
	one.play(t.Context())
	for _, p := range one.proofs {
		t.Log(p)
	}
	t.Logf("%v\n%v", one.result, one.report.Counts)
	if one.wrong != nil {
		t.Errorf("%v\nkept in %s", one.wrong, one.folder())
	}
	if err := errors.Join(one.unproved, one.void); err != nil {
		t.Errorf("not all is proved: %v", err)
	}
	if one.takeovers == 0 {
		t.Error("no shard was taken over")
	}
}

var mixture = cluster.Schedule{
	{At: 0, For: 4 * time.Second, Fault: cluster.KindPause.On("n3")},
	{At: time.Second, For: 2 * time.Second, Fault: cluster.KindDuplicate.On("n1").At(0.2)},
	{At: 5 * time.Second, For: 5 * time.Second, Fault: cluster.KindPartition.On("n2")},
	{At: 11 * time.Second, For: 3 * time.Second, Fault: cluster.KindKill.On("n1")},
	{At: 17 * time.Second, For: time.Second, Fault: cluster.KindPowerCutAll.On()},
}

var processes = cluster.Schedule{
	{At: 0, For: 4 * time.Second, Fault: cluster.KindPause.On("n3")},
	{At: 5 * time.Second, For: 3 * time.Second, Fault: cluster.KindTerminate.On("n2")},
	{At: 11 * time.Second, For: 3 * time.Second, Fault: cluster.KindKill.On("n1")},
	{At: 17 * time.Second, For: time.Second, Fault: cluster.KindKillAll.On()},
}
