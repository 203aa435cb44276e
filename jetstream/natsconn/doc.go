// Package natsconn connects to NATS. [Open] opens a connection like that of an application, [Dial] one to a server
// outside of this process; [Options] are the options that all connections of a node share.
package natsconn
