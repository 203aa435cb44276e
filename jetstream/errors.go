package jetstream

import (
	"errors"
	"fmt"
)

// What [OpenDeployment] and [Deployment.Events] find wrong; the error that wraps one names the bucket or
// stream, and the way out.
var (
	// ErrNoJetStream says that the NATS server runs without JetStream, or that this account may not
	// use it.
	ErrNoJetStream = errors.New("JetStream is not available")
	// ErrServerTooOld says that the NATS server lacks fixes without which a replicated bucket can lose
	// or misplace a record.
	ErrServerTooOld = errors.New("the NATS server is too old")
	// ErrForbidden says that the NATS user may not do what a node has to do.
	ErrForbidden = errors.New("the NATS user has no permission")
	// ErrShards says that the deployment was made with another number of shards than asked for.
	ErrShards = errors.New("the deployment has another number of shards")
	// ErrForeignBucket says that a bucket of that name was not made by Holdfast, or not for this
	// deployment.
	ErrForeignBucket = errors.New("the bucket belongs to somebody else")
	// ErrNewerFormat says that the bucket was made by a newer Holdfast than this one.
	ErrNewerFormat = errors.New("the bucket has a newer format")
	// ErrBucketSettings says that somebody has changed a setting that the bucket's safety rests on.
	ErrBucketSettings = errors.New("the bucket's settings were changed")
	// ErrBucketLost says that a bucket that once existed is gone, and with it the counters of its
	// shard: to make an empty one in its place would issue its tokens a second time.
	ErrBucketLost = errors.New("a bucket is missing")
	// ErrEventStream says that the stream of events cannot be used as it was asked for.
	ErrEventStream = errors.New("the event stream cannot be used")
)

// What [StartServer] and [Connect] find wrong; the error that wraps one says what to do.
var (
	// ErrDataDir says that the data directory cannot be used.
	ErrDataDir = errors.New("the data directory cannot be used")
	// ErrListen says that the server cannot, or should not, listen where it was told to.
	ErrListen = errors.New("the listen address cannot be used")
	// ErrConfig says that the settings contradict each other or would not be safe.
	ErrConfig = errors.New("the settings cannot be used")
	// ErrRoutes says that names of members cannot be resolved.
	ErrRoutes = errors.New("the names of --routes or --cluster-listen cannot be resolved")
	// ErrConnect says that no connection to the NATS server came about.
	ErrConnect = errors.New("cannot connect to NATS")
)

// What [Visitor.Remove] finds wrong; the error that wraps one says what to do.
var (
	// ErrNoMember says that the cluster has no member of that name.
	ErrNoMember = errors.New("no such member")
	// ErrMemberNeeded says that the member is there, or that the others could not do without it.
	ErrMemberNeeded = errors.New("the member cannot be removed now")
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
