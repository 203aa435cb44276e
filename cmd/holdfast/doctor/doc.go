// Package doctor looks at a deployment from a client's side, and tells what is wrong with it and what to do. It takes no
// lock and changes no setting. It asks NATS, the nodes and JetStream what the user of its connection may ask; each request
// has a bound.
package doctor
