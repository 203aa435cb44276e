// Package peer holds the messages that the nodes of a deployment send one another: announcements of
// what a node owns, and the parts of a listing. Clients neither send nor read them.
package peer
