// Package audit checks the journal of a shard, record by record. All suites that read journals use it, so
// each of them checks everything that can be told from a journal alone:
//
//   - records stand in order, commits follow one another, and epochs grow by one;
//   - each epoch has one writer, and each writer opens the shard once;
//   - the watermark of published events never goes back, and names no commit to come;
//   - a resource has one lease at a time, and only that lease is extended or ended;
//   - tokens grow by one while the resource is remembered, and never go back;
//   - no lease expires before its time, counted anew by each owner of the shard;
//   - no request is granted again while the owner has to remember that its lease ended;
//   - a page equals the state of its resources; the floor never falls and covers what a page forgets.
//
// It does not know what clients were told. That is the business of integration/linear and of the suites.
package audit
