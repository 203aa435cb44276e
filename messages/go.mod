module github.com/holdfast-io/holdfast/messages

go 1.26.8

require (
	github.com/cespare/xxhash/v2 v2.3.0
	golang.org/x/text v0.44.0
	google.golang.org/protobuf v1.36.12
	pgregory.net/rapid v1.3.0
)
