package jetstream

import (
	"errors"
	"fmt"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
)

// Errors of [OpenDeployment]. The error that wraps one names the bucket and says what to do.
var (
	// ErrNoJetStream says that the NATS server runs without JetStream, or that this account may not
	// use it.
	ErrNoJetStream = jsapi.ErrNoJetStream
	// ErrForbidden says that the NATS user lacks a permission that a node needs.
	ErrForbidden = jsapi.ErrForbidden
	// ErrConfig says that the settings contradict each other or need another server.
	ErrConfig = errors.New("the settings cannot be used")
	// ErrServerTooOld says that the NATS server lacks fixes without which a replicated bucket can lose
	// or misplace a record.
	ErrServerTooOld = errors.New("the NATS server is too old")
	// ErrShards says that the deployment was created with another number of shards.
	ErrShards = errors.New("the deployment has another number of shards")
	// ErrForeignBucket says that a bucket of that name was not created by Holdfast, or not for this
	// deployment.
	ErrForeignBucket = errors.New("the bucket belongs to another application")
	// ErrNewerFormat says that the bucket was created by a newer Holdfast than this one.
	ErrNewerFormat = errors.New("the bucket has a newer format")
	// ErrBucketSettings says that a setting that the bucket's safety depends on was changed.
	ErrBucketSettings = errors.New("the bucket's settings were changed")
	// ErrBucketLost says that a bucket is gone, and with it the counters of its shard. An empty bucket in
	// its place would issue its tokens a second time.
	ErrBucketLost = jsapi.ErrStreamLost
	// ErrNoDeployment says that there is no deployment to open.
	ErrNoDeployment = errors.New("there is no deployment")
	// ErrUnfinished says that a restore into the deployment began and did not end, so that it lacks a part of the
	// locks. It is also an error of [Bucket.Replay] and [Bucket.End].
	ErrUnfinished = errors.New("the restore of the deployment is not finished")
	// ErrNotEmpty says that there is something in the place of a deployment that is to be restored.
	ErrNotEmpty = errors.New("the place of the deployment is not empty")
)

// PlaceError is an [Bucket.Append] or [Bucket.Replay] that went wrong at one place of a bucket. It
// wraps what went wrong.
type PlaceError struct {
	Bucket   string // HOLDFAST_3
	Position uint64
	Key      string // journal.17
	Err      error
}

// Error returns one line: the place, then what is wrong there.
func (e *PlaceError) Error() string {
	return fmt.Sprintf("bucket %s, position %d, %s: %v", e.Bucket, e.Position, e.Key, e.Err)
}

// Unwrap returns what went wrong.
func (e *PlaceError) Unwrap() error {
	return e.Err
}
