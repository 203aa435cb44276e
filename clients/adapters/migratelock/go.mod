module github.com/holdfast-io/holdfast/clients/adapters/migratelock

go 1.26.8

require (
	github.com/golang-migrate/migrate/v4 v4.20.1
	github.com/holdfast-io/holdfast/clients v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/holdfast-io/holdfast/messages v0.0.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/lib/pq v1.10.9 // indirect
	github.com/nats-io/nats.go v1.55.0 // indirect
	github.com/nats-io/nkeys v0.4.17 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/holdfast-io/holdfast/clients => ../..
	github.com/holdfast-io/holdfast/messages => ../../../messages
)
