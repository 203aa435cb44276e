// Package linear judges what clients of Holdfast received. It makes load, records it, and checks the
// history against the contract, the journals and the events. It knows nothing of faults: the caller makes them.
//
//	load, err := linear.StartLoad(ctx, linear.LoadConfig{Connect: connect, Resources: names})
//	... faults ...
//	history := load.Stop()
//	journal, err := linear.ReadJournal(ctx, nc, messages.DefaultPrefix)
//	err = watch.Await(ctx, journal)
//	report, err := linear.Check(history, journal, []*linear.Events{watch}, linear.Terms{Artifacts: dir})
//
// A [History] is what clients saw, on one monotonic clock. [Check] tries everything that it can be held
// against, and returns one error that lists what it found:
//
//   - model: each resource's operations, checked by Porcupine against a sequential lock, when
//     the journal has settled what came of requests without an answer;
//   - windows: by arithmetic alone, clients that could believe at once that they hold a resource exceed no
//     limit among them, and have permits of their own;
//   - tokens and turns: tokens follow real time, and no request was granted at once past others that waited;
//   - journal: each shard's records follow from those before them, by integration/audit;
//   - answers: what clients received stands in the journal, what stands there was asked for, and a request
//     that was withdrawn is not granted;
//   - replay: the service's own replay of the journal comes to the same leases;
//   - events: watchers received the journal's changes;
//   - floors: enough happened for all this to mean anything.
//
// The model's time is a lower bound: no client may find a lease run out whose TTL has not passed since its
// request was sent. How much longer a lease lasts is not judged, since a change of owner lets it begin
// anew. Client and service have to be on one machine, so that there is one clock.
//
// Names of resources must be new to the deployment, and its journals must begin with their first commit:
// run it with a history (--history) that is longer than the load.
//
// A lease that may hold its resource back is exclusive here: package lease has models of shared ones, and the check of
// the journal knows both.
//
// Leases may have several tokens, and a shortest hold. The model knows the block of each lease, and a lower bound for
// the end of its shortest hold, as of the lease itself. Answers show no shortest hold, so whether a release leaves what
// is left of it is judged by the journal.
//
// A keep or an end of a session is in the history as an operation of each of its leases. The model knows until when a
// session runs at the least, as it knows that of a lease; a lease in a session is exclusive and persistent here.
//
// Half of the owners have leases with a secret, see secretive. What is asked in their name without it is asked by a
// stranger, to the model.
//
// A resource that the service has forgotten, or that came after it had forgotten others, is held against the journal, the
// windows and this only: no token is two owners'.
//
// Leases that are EPHEMERAL are in no journal and end when the shard moves; a deposed owner may even give
// out some more. So resources that have any are held against the model only while nothing is unknown and
// their shard has one owner, and else only against this: no token is two owners'.
package linear
