package jetstream

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages"
)

// bucketFormat is the newest layout of a bucket that this code creates and reads.
const bucketFormat = 1

// What a bucket's metadata says, so that it can be recognised.
const (
	metaShards = "holdfast.shards"
	metaFormat = "holdfast.format"
	// metaRestore is the id of the restore that is filling the bucket. It is there until all buckets are filled.
	metaRestore = "holdfast.restore"
)

// A KV bucket is a stream of a certain shape. These are its names.
func streamName(bucket string) string    { return "KV_" + bucket }
func subjectPrefix(bucket string) string { return "$KV." + bucket + "." }

// layout describes the buckets of a deployment.
type layout struct {
	prefix   messages.Prefix
	shards   uint32
	replicas int
}

// config returns the settings of one shard's bucket. The bucket is created as a stream, because the KV interface
// insists on AllowDirect, and with that any replica answers reads, also one that is behind.
func (l layout) config(shard uint32) jetstream.StreamConfig {
	bucket := l.prefix.Bucket(messages.Shard{Number: shard})
	return jetstream.StreamConfig{
		Name: streamName(bucket),
		Description: fmt.Sprintf("Holdfast %s, shard %d of %d: written by holdfast only", l.prefix, shard,
			l.shards),
		Subjects:          []string{subjectPrefix(bucket) + ">"},
		Retention:         jetstream.LimitsPolicy,
		MaxConsumers:      -1,
		MaxMsgs:           -1, // A limit would make every append slow, and refuse appends when reached.
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardNew,
		Storage:           jetstream.FileStorage,
		Replicas:          l.replicas,
		Duplicates:        jsapi.MinWindow,
		AllowRollup:       true,
		DenyDelete:        true,
		AllowDirect:       false,
		Metadata: map[string]string{
			metaShards:       strconv.FormatUint(uint64(l.shards), 10),
			metaFormat:       strconv.Itoa(bucketFormat),
			jsapi.MetaPrefix: string(l.prefix),
		},
	}
}

// shardsOf returns with how many shards the bucket's deployment was made, if the bucket is one of the
// deployment's.
func (l layout) shardsOf(bucket string, config jetstream.StreamConfig) (uint32, error) {
	format, ok := config.Metadata[metaFormat]
	if !ok {
		return 0, fmt.Errorf("%w: %s was not made by Holdfast; choose another prefix than %q, or remove the bucket",
			ErrForeignBucket, bucket, l.prefix)
	}
	number, err := strconv.Atoi(format)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("%w: %s says %s=%q, which no Holdfast writes", ErrForeignBucket, bucket, metaFormat,
			format)
	}
	if number > bucketFormat {
		return 0, fmt.Errorf("%w: %s has format %d, this version reads up to %d; upgrade", ErrNewerFormat, bucket,
			number, bucketFormat)
	}
	if prefix := config.Metadata[jsapi.MetaPrefix]; prefix != string(l.prefix) {
		return 0, fmt.Errorf("%w: %s belongs to the prefix %q, not %q; one account cannot have both", ErrForeignBucket,
			bucket, prefix, l.prefix)
	}
	if err := checkFinished(bucket, config); err != nil {
		return 0, err
	}
	shards, err := strconv.ParseUint(config.Metadata[metaShards], 10, 32)
	if err != nil || shards == 0 {
		return 0, fmt.Errorf("%w: %s says %s=%q, which no Holdfast writes", ErrForeignBucket, bucket, metaShards,
			config.Metadata[metaShards])
	}
	return uint32(shards), nil
}

// checkFinished returns [ErrUnfinished] if the bucket has the mark of a restore.
func checkFinished(bucket string, config jetstream.StreamConfig) error {
	if config.Metadata[metaRestore] == "" { // mutant: NodeStartsOnAPart
		return nil
	}
	return fmt.Errorf("%w: %s has only a part of its locks; let holdfast restore end, or start it again", ErrUnfinished,
		bucket)
}

// check returns an error if the bucket is none of the deployment's, or is no longer safe to use.
func (l layout) check(shard uint32, config jetstream.StreamConfig) error {
	bucket := l.prefix.Bucket(messages.Shard{Number: shard})
	shards, err := l.shardsOf(bucket, config)
	if err != nil {
		return err
	}
	if shards != l.shards {
		return l.otherShards(shards)
	}
	if s := l.settings(shard, config).Changed(); s != nil {
		return fmt.Errorf("%w: %s has %s %v, it must be %v; set it back with `nats stream edit %s`", ErrBucketSettings,
			bucket, s.Name, s.Got, s.Want, config.Name)
	}
	return nil
}

func (l layout) otherShards(made uint32) error {
	return fmt.Errorf(
		"%w: %q was made with %d, not %d; "+
			"a deployment keeps its number, so ask for %d, or make a new deployment under another prefix",
		ErrShards, l.prefix, made, l.shards, made)
}

// settings are those that could lose a record, let one in that the owner has not written, or answer a
// read with an old one. Limits of size only refuse appends, so an operator may set them.
func (l layout) settings(shard uint32, got jetstream.StreamConfig) jsapi.Settings {
	want := l.config(shard)
	s := jsapi.CommonSettings(got, want)
	s.Require("subjects", fmt.Sprint(got.Subjects), fmt.Sprint(want.Subjects))
	s.Require("max messages per subject", got.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	s.Require("max messages", max(got.MaxMsgs, -1), want.MaxMsgs)
	s.Require("max age", got.MaxAge, want.MaxAge)
	s.Require("allow direct", got.AllowDirect, want.AllowDirect)
	s.Require("deny delete", got.DenyDelete, want.DenyDelete)
	s.Require("allow message TTL", got.AllowMsgTTL, false)
	s.Require("subject delete marker TTL", got.SubjectDeleteMarkerTTL, time.Duration(0))
	s.Require("subject transform", got.SubjectTransform != nil, false)
	return s
}
