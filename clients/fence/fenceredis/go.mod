module github.com/holdfast-io/holdfast/clients/fence/fenceredis

go 1.26.8

require github.com/redis/go-redis/v9 v9.23.0

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/holdfast-io/holdfast/clients v0.0.0
	github.com/holdfast-io/holdfast/messages v0.0.0
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/holdfast-io/holdfast/clients => ../..

replace github.com/holdfast-io/holdfast/messages => ../../../messages
