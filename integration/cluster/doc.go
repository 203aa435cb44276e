// Package cluster runs nodes as what they are for users, processes of the binary, and lets things go wrong for
// them: each has a network namespace and a disk of its own, and this process is the cable between them. It
// needs Linux and root; without root nodes live on loopback, and only processes can be hurt.
//
// A scenario:
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m.Run)) }
//
//	func TestHidden(t *testing.T) {
//		c := cluster.Start(t, cluster.Config{})
//		err := c.WaitHealthy(t.Context())
//		// ... clients over c.Connect begin ...
//		proofs, err := c.During(t.Context(), 10*time.Second, cluster.KindHide.On("n2"), cluster.KindSlow.On("n3"))
//		err = c.WaitHealthy(t.Context())
//		// ... clients end, and what they saw is checked ...
//	}
//
// A [Fault] is a value. [Cluster.Inject] begins one and returns what heals it; [Cluster.During] does both for
// some together, [Cluster.Run] for a [Schedule], which [Random] draws. Healing takes away the cause and starts
// what has to be started; [Cluster.WaitHealthy] waits for the consequences to be over.
//
// A fault that is healed returns a [Proof], or [ErrNoEvidence]: one that did not happen does not count. What
// proves it is in the world and not in the code that made it: frames of real connections that were lost, late,
// doubled or turned into resets; a process that is gone, or whose threads all stood still; a file that was not
// synced and is lost while the one beside it that was is there; a write that a disk has refused; fsyncs that
// strace has seen fail or wait; streams that have another leader; a register of
// shards that has had a change. So every network fault wants traffic while
// it lasts, and every fault of fsync wants writes.
//
// A node that says what no node may say (a panic, a data race) fails the test at its end, and so do nodes that
// have ended by themselves, also while a test waits for health.
package cluster
