// Package access tests the permissions that holdfast access prints, on real servers: with the rights of a role
// everything works that the role is for, NATS refuses everything else, and no answer of a node goes where its client
// may not publish.
package access
