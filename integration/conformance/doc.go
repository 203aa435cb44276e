// Package conformance runs the cases of clients/conformance with the drivers of the clients. The README there has the
// format of the cases, the invariants and the protocol of the drivers.
package conformance
