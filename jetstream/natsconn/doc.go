// Package natsconn connects to NATS. [Dial] connects to a server outside of this process; [Options] are the
// options that all connections of a node share.
package natsconn
