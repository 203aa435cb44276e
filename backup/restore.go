package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// DefaultAhead covers a million tokens a second for eleven days.
	DefaultAhead = 1_000_000_000_000
	// MaxAhead leaves room for dozens of restores below [messages.MaxToken].
	MaxAhead = 10_000_000_000_000
)

var (
	// ErrAhead says that the tokens cannot be raised that far.
	ErrAhead = errors.New("the tokens cannot be raised that far")
	// ErrChanged says that the file was changed while it was being read.
	ErrChanged = errors.New("the backup was changed during the restore")
)

// Restore fills an empty deployment from a backup.
type Restore struct {
	// File is the backup, and Contents what [Inspect] has found in it.
	File     io.ReadSeeker
	Contents *Contents
	// Ahead is how far above all tokens of the backup new ones begin: at least the number of tokens that the whole
	// deployment has issued since the backup, of which a reservation for ephemeral leases counts as 1 000 and a block as
	// all of its tokens, and the Ahead of all restores since. At
	// most [MaxAhead]. 0: there were none, and all tokens stay as they are.
	Ahead uint64
	// Shards is the number of shards to fill, and Target the journal of each. They are empty.
	Shards uint32
	Target func(shard uint32) Target
	// AtMs is the present time.
	AtMs     int64
	Progress Progress
}

// After returns the position behind which the journals begin: above every position of the deployment that was backed
// up, so that a reader of its journals notices that they are others.
func (r *Restore) After() uint64 { return r.Contents.Position + r.leap() }

// leap is by how much positions, numbers and epochs are raised. Reads are appends, too, so there may have been more of
// these than tokens.
func (r *Restore) leap() uint64 { return r.Ahead + DefaultAhead }

// floor returns the low-water mark of all shards. One base for all names: each grant raises the highest token of its
// shard by one at most, an ephemeral one by a block, and forgetting can raise the next token of any name to that.
func (r *Restore) floor() messages.Token {
	if r.Ahead == 0 {
		return r.Contents.Floor
	}
	return r.Contents.Highest + messages.Token(r.Ahead) // mutant: RestoreForgetsToRaise
}

// Check reports whether the backup can be restored so, before anything is written.
func (r *Restore) Check() error {
	switch highest := r.Contents.Highest; {
	case r.Ahead > MaxAhead:
		return fmt.Errorf("%w: %d is more than %d", ErrAhead, r.Ahead, MaxAhead)
	case r.Ahead > 0 && highest >= messages.MaxToken-messages.Token(r.Ahead):
		return fmt.Errorf(
			"%w: with --ahead %d, the highest token of the backup, %d, leaves none below the last one, %d; "+
				"choose a smaller --ahead that covers the grants since the backup", ErrAhead, r.Ahead, highest,
			messages.MaxToken)
	}
	return nil
}

// Run writes all shards. If it fails, none of the journals may be used.
func (r *Restore) Run(ctx context.Context) error {
	if err := r.Check(); err != nil {
		return err
	}
	for shard := range r.Shards {
		if err := r.fill(ctx, shard); err != nil {
			return fmt.Errorf("shard %d: %w", shard, err)
		}
	}
	return nil
}

// fill writes one shard: a commit, and behind it pages of all resources. A journal whose first commit has a number
// above 1 is read only if it has all its pages.
func (r *Restore) fill(ctx context.Context, shard uint32) error {
	first := r.commit()
	l := ledger.New()
	if err := l.Read(r.After()+1, first, nil); err != nil {
		return err
	}
	if err := r.load(l, shard); err != nil {
		return err
	}
	l.RaiseFloor(r.floor()) // mutant: RestoreForgetsTheLowWaterMark
	j, at := r.Target(shard), r.After()
	if err := j.Append(ctx, at, first); err != nil {
		return err
	}
	for page := range l.Pages() {
		at++
		if err := j.Append(ctx, at, page); err != nil {
			return err
		}
		r.progress(shard, 1, through(page.GetPage()))
	}
	return nil
}

// progress reports how much of a shard is read and written, of which each is half of the work.
func (r *Restore) progress(shard uint32, read, written float64) {
	r.Progress((float64(shard) + (read+written)/2) / float64(r.Shards))
}

// through returns which part of all resources the pages of a ledger have, up to this one.
func through(p *journal.Page) float64 {
	return float64(p.GetPrefix()+1) / float64(uint64(1)<<p.GetDepth())
}

// commit returns the commit with which each journal begins.
func (r *Restore) commit() *journal.Record {
	number := r.Contents.Number + r.leap() + 2 // above 1, also of a deployment without commits
	return First("holdfast-restore", r.Contents.Epoch+r.leap()+1, number, r.AtMs)
}

// First returns the commit with which a journal begins that gets what another one had. It has no changes, so no events
// are owed. Its number is above 1, so readers demand the pages of all resources behind it.
func First(writer string, epoch, number uint64, atMs int64) *journal.Record {
	first := &journal.Record{Body: &journal.Record_Commit{Commit: &journal.Commit{
		Epoch: epoch, Number: number, Opened: true, AtMs: atMs, Published: number,
		Writer: &journal.Writer{Node: writer},
	}}}
	first.SetFormat()
	return first
}

// load puts the resources of a shard into its ledger.
func (r *Restore) load(l *ledger.Ledger, shard uint32) error {
	if _, err := r.File.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var now Contents
	err := now.read(r.File, func(a *archive.Reader, record *archive.Record) error {
		r.progress(shard, float64(a.Read())/float64(r.Contents.Size), 0)
		for _, e := range record.GetPage().GetEntries() {
			key, err := messages.KeyOf(e.Name())
			if err != nil {
				return err
			}
			if messages.ShardOf(key, r.Shards) != shard || !r.keeps(e) {
				continue
			}
			if err := l.Adopt(r.raised(e)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !bytes.Equal(now.Sum, r.Contents.Sum) {
		err = ErrChanged
	}
	return err
}

// keeps reports whether a resource is remembered. One that is free goes on above the low-water mark, as any other name:
// there may have been later leases, of which nothing is known.
func (r *Restore) keeps(e *journal.Entry) bool { return r.Ahead == 0 || !isFree(e) }

// raised returns the entry with its next token above the low-water mark. Its leases keep their tokens.
func (r *Restore) raised(e *journal.Entry) *journal.Entry {
	if r.Ahead == 0 {
		return e
	}
	held := proto.CloneOf(e)
	held.Reserved = uint64(r.floor()) // mutant: RestoreRaisesEachNameFromItsOwnToken, RestoreLosesTheSecrets
	return held
}
