// Package simulation runs whole deployments in virtual time, repeatable from a seed: real nodes with their real storage
// code, and clients, on a simulated NATS, in one bubble of testing/synctest.
//
//	outcome, err := simulation.NewTrial(seed).Run(t)
//	report, err := linear.Check(ctx, outcome.History, outcome.Journal, nil, linear.Terms{})
//
// A [Trial] draws from its seed how many nodes, servers, clients, shards and replicas there are, how wrong the clocks
// of the nodes are, what the clients want, and what goes wrong when. What its clients received is judged by
// integration/linear, as in the tests on real servers.
//
// Everything between two processes passes [simnats], where one thing is delivered at a time, and the next one when all
// that it has led to has come to rest. So a seed repeats its trace, which TestSeedRepeats shows, as long as one thread
// runs Go code: GOMAXPROCS is 1 here, and a campaign starts several processes.
package simulation
