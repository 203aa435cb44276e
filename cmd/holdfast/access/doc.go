// Package access knows which subjects a user of NATS needs for each use of a deployment, and prints them as a NATS
// configuration or as commands of nsc. A [Deployment] gives the rights of a role; conf.go and nsc.go write them.
package access
