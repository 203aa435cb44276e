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
	prefix     messages.Prefix
	generation uint32
	shards     uint32
	replicas   int
}

// bucket returns the name of one shard's bucket.
func (l layout) bucket(shard uint32) string {
	return l.prefix.Bucket(messages.Shard{Generation: l.generation, Number: shard})
}

// config returns the settings of one shard's bucket.
func (l layout) config(shard uint32) jetstream.StreamConfig {
	return l.configOf(l.bucket(shard), fmt.Sprintf("shard %d of %d", shard, l.shards))
}

// configOf returns the settings of a bucket. It is created as a stream, because the KV interface insists on AllowDirect,
// and with that any replica answers reads, also one that is behind.
func (l layout) configOf(bucket, what string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              streamName(bucket),
		Description:       fmt.Sprintf("Holdfast %s, %s: written by holdfast only", l.prefix, what),
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

// checkOwn returns an error unless the bucket is one of the deployment's.
func (l layout) checkOwn(bucket string, config jetstream.StreamConfig) error {
	format, ok := config.Metadata[metaFormat]
	if !ok {
		return fmt.Errorf("%w: %s was not made by Holdfast; choose another prefix than %q, or remove the bucket",
			ErrForeignBucket, bucket, l.prefix)
	}
	number, err := strconv.Atoi(format)
	if err != nil || number < 1 {
		return fmt.Errorf("%w: %s says %s=%q, which no Holdfast writes", ErrForeignBucket, bucket, metaFormat,
			format)
	}
	if number > bucketFormat {
		return fmt.Errorf("%w: %s has format %d, this version reads up to %d; upgrade", ErrNewerFormat, bucket,
			number, bucketFormat)
	}
	if prefix := config.Metadata[jsapi.MetaPrefix]; prefix != string(l.prefix) {
		return fmt.Errorf("%w: %s belongs to the prefix %q, not %q; one account cannot have both", ErrForeignBucket,
			bucket, prefix, l.prefix)
	}
	return nil
}

// shardsOf returns with how many shards the bucket's generation was made, if the bucket is one of the deployment's.
func (l layout) shardsOf(bucket string, config jetstream.StreamConfig) (uint32, error) {
	if err := l.checkOwn(bucket, config); err != nil {
		return 0, err
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
	bucket := l.bucket(shard)
	shards, err := l.shardsOf(bucket, config)
	if err != nil {
		return err
	}
	if shards != l.shards {
		return l.otherShards(shards)
	}
	return l.checkSettings(bucket, config, l.config(shard))
}

// checkSettings returns an error if a bucket is no longer safe to use.
func (l layout) checkSettings(bucket string, config, want jetstream.StreamConfig) error {
	if s := settings(config, want).Changed(); s != nil {
		return fmt.Errorf("%w: %s has %s %v, it must be %v; set it back with `nats stream edit %s`", ErrBucketSettings,
			bucket, s.Name, s.Got, s.Want, config.Name)
	}
	return nil
}

func (l layout) otherShards(made uint32) error {
	return fmt.Errorf(
		"%w: %q was made with %d, not %d; "+
			"ask for %d, and give it another number with holdfast reshard, or make a new deployment under another prefix",
		ErrShards, l.prefix, made, l.shards, made)
}

// settings are those that could lose a record, let one in that the owner has not written, or answer a
// read with an old one. Limits of size only refuse appends, so an operator may set them.
func settings(got, want jetstream.StreamConfig) jsapi.Settings {
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
