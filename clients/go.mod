module github.com/holdfast-io/holdfast/clients

go 1.26.8

// Clients in other languages, and what they install.
ignore (
	./python
	./typescript
)

require (
	github.com/gofrs/flock v0.13.2
	github.com/holdfast-io/holdfast/messages v0.0.0
	github.com/nats-io/nats.go v1.55.0
	golang.org/x/sys v0.50.0
	google.golang.org/protobuf v1.36.12
	pgregory.net/rapid v1.3.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/nats-io/nkeys v0.4.17 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/holdfast-io/holdfast/messages => ../messages
