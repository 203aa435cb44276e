// Package hostile attacks a node with clients that speak the raw NATS protocol at random, beside a normal load, and
// checks what an attack must not do: end the process, leave something behind, change a lock of others, or stop the
// load.
//
// Attackers log in as a user without rights, as one with the rights to the resources below hostile., as one who may
// also send batches, or not at all. What each of them sends follows from the seed. The load is that of package linear,
// whose history is checked against the journals, and a load of pairs, which is measured.
package hostile
