// Package jstest starts NATS servers, clusters and deployments for the tests of the packages below
// jetstream, and puts a proxy between client and server that loses, repeats, delays and changes messages.
package jstest
