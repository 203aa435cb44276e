// Package jsapi sends requests to the API of JetStream. It classifies errors as permanent or temporary,
// repeats requests until JetStream is ready, and judges the settings and the replicas of a stream.
package jsapi
