package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Register is where a deployment says which generation of shards is in use: a bucket of its own, which there is once
// their number was to be changed. It is safe for concurrent use.
type Register struct {
	api    *jsapi.Requester
	layout layout
	// first is the number of shards of generation 0, of a deployment that was opened when that was in use.
	first uint32
}

// Register returns the register of the deployment; nil if the user may not read it.
func (d *Deployment) Register() *Register { return d.register }

// Read returns what the register says, and its revision for [Register.Write]. If there is none it returns generation 0,
// and the revision 0. A deposed leader may answer with an earlier content.
func (r *Register) Read(ctx context.Context) (content *journal.Register, revision uint64, err error) {
	empty := &journal.Register{Present: &journal.Generation{Shards: r.first}}
	b, err := r.bucket(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return empty, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var m *jetstream.RawStreamMsg
	err = b.untilAnswered(ctx, func() (err error) {
		m, err = b.first(ctx, 1, ">")
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("bucket %s: cannot be read: %w", b.name, err)
	}
	if m == nil {
		return empty, 0, nil
	}
	d := b.parse(m.Sequence, m.Subject, m.Header, m.Data)
	if d.err != nil || d.record.GetRegister() == nil {
		return nil, 0, b.errorAt(d.position, d.key, fmt.Errorf("%w: it is no register: %w", journal.ErrCorrupt, d.err))
	}
	return d.record.GetRegister(), m.Sequence, nil
}

// Write replaces the register of the revision. [journal.ErrConflict]: another register was written in its place. As with
// [Bucket.Append], [journal.ErrNotStored] is definite, and any other error leaves it open whether this one was written.
func (r *Register) Write(ctx context.Context, revision uint64, content *journal.Register) error {
	b, err := r.bucket(ctx)
	if err != nil {
		return err
	}
	record := &journal.Record{Body: &journal.Record_Register{Register: content}}
	record.SetFormat()
	return b.Append(ctx, revision, record)
}

// Create creates the bucket of the register, unless there is one.
func (r *Register) Create(ctx context.Context, replicas int) error {
	config := r.config()
	config.Replicas = replicas
	_, err := r.api.Restarted().CreateStream(ctx, config)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("cannot create bucket %s: %w", r.layout.prefix.Register(), err)
	}
	return nil
}

func (r *Register) config() jetstream.StreamConfig {
	config := r.layout.configOf(r.layout.prefix.Register(), "the generations of shards")
	delete(config.Metadata, metaShards)
	return config
}

// bucket returns the bucket of the register, if it is the deployment's, and safe to use.
func (r *Register) bucket(ctx context.Context) (*Bucket, error) {
	name := r.layout.prefix.Register()
	stream, err := r.api.Restarted().Stream(ctx, streamName(name))
	if err != nil {
		return nil, err
	}
	config := stream.CachedInfo().Config
	if err := r.layout.checkOwn(name, config); err != nil {
		return nil, err
	}
	return newBucket(r.api.Conn, stream, name, newAppendLock()), r.layout.checkSettings(name, config, r.config())
}
