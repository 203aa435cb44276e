// Package audit checks the journal of a shard, record by record. All suites that read journals use it, so
// each of them checks everything that can be distinguished from a journal alone:
//
//   - records stand in order, commits follow one another, and epochs grow by one;
//   - each epoch has one writer, and each writer opens the shard once;
//   - the watermark of published events never goes back, and names no commit to come;
//   - the permits held on a resource exceed the limit of no holder: an exclusive lease is held alone;
//   - each permit has a number that no other has at the time, the smallest that is free;
//   - leases that are held together have one fence, and fences never go back;
//   - only what is held is extended or ended, and stays as shared as it was granted;
//   - a downgrade is an end and a grant in one commit, with nothing between, of the same request;
//   - tokens grow by one while the resource is remembered, and never go back; a lease with a block has all tokens of
//     it, and only an extension adds some;
//   - no lease expires before its time, counted anew by each owner of the shard;
//   - nothing is granted while a lost lease holds the resource back; only such a lease is confirmed; a delay is not
//     over before its time, counted anew by each owner of the shard, and its lease is taken back by its owner only;
//   - nothing is granted before a shortest hold is over: the end of the lease records what is left, no less than that
//     is left, and that is not over before its time, nor by a confirmation of the loss;
//   - no request is granted again while the owner has to remember that its lease ended;
//   - a page equals the state of its resources; the floor never falls and covers what a page forgets;
//   - a record with a block or a shortest hold has a format that an older node refuses.
//
// It does not know what clients received. That is the business of integration/linear and of the suites.
package audit
