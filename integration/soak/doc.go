// Package soak tests what shows itself only in hours of real time: whether a node that is restarted now and then, while
// it compacts, passivates and forgets at a hundredfold of its speed, keeps anything that it should not. The load and the
// check of the answers are those of integration/linear, in rounds; the journals are audited meanwhile.
//
// [TestNames] lets more names come by than a node may remember, and says what that takes.
package soak
