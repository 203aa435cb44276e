// Package members lists who belongs to a cluster of NATS servers, and removes members that are gone.
//
// A [Session] reports the members, their faults and the replicas that they keep, and removes a member. It
// refuses to remove one that is present or that the cluster still needs. It reaches the cluster by a [Link],
// which is an observer of jetstream/embedded as a rule.
package members
