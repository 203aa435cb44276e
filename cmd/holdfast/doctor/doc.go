// Package doctor looks at a deployment from a client's side, and reports what is wrong with it and what to do. It takes
// no lock and changes no setting. It sends requests to NATS, the nodes and JetStream, as far as the user of its
// connection may; each request has a bound.
package doctor
