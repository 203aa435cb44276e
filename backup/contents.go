package backup

import (
	"errors"
	"io"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Contents says what a backup has.
type Contents struct {
	Header *archive.Header
	// Leases counts the leases that are held, Lost the ended ones that hold their resources back, and Free the resources
	// that are free and remembered.
	Leases, Lost, Free int
	// Closed: a journal was closed for another number of shards. Only a copy knows that.
	Closed bool
	// Position, Number and Epoch are the highest of all shards, Floor is the highest low-water mark, and Highest the
	// highest token that may have been issued.
	Position, Number, Epoch uint64
	Floor, Highest          messages.Token
	// Sum is the checksum of the file, and Size its bytes before the end. A copy has neither yet.
	Sum  []byte
	Size int64
}

// Inspect reads a whole backup of size bytes and says what it has, or that it is not whole.
func Inspect(r io.Reader, size int64, progress Progress) (*Contents, error) {
	c := &Contents{}
	return c, c.read(r, func(a *archive.Reader, record *archive.Record) error {
		progress(float64(a.Read()) / float64(max(size, 1)))
		if s := record.GetShard(); s != nil {
			c.addShard(s)
		}
		c.addPage(record.GetPage())
		return nil
	})
}

// read passes all records to visit, and notes header and checksum.
func (c *Contents) read(r io.Reader, visit func(*archive.Reader, *archive.Record) error) error {
	a, err := archive.NewReader(r)
	if err != nil {
		return err
	}
	for {
		record, err := a.Next()
		switch {
		case errors.Is(err, io.EOF):
			c.Header, c.Sum, c.Size = a.Header(), a.Sum(), a.Read()
			return nil
		case err != nil:
			return err
		}
		if err := visit(a, record); err != nil {
			return err
		}
	}
}

func (c *Contents) addShard(s *archive.Shard) {
	c.Position, c.Number, c.Epoch = max(c.Position, s.GetPosition()), max(c.Number, s.GetNumber()),
		max(c.Epoch, s.GetEpoch())
}

func (c *Contents) addPage(p *journal.Page) {
	c.Floor = max(c.Floor, messages.Token(p.GetFloor()))
	c.Highest = max(c.Highest, c.Floor)
	for _, e := range p.GetEntries() {
		c.Highest = max(c.Highest, messages.Token(e.GetReserved()), e.GetGrant().Last()) // mutant: BackupForgetsABlock
		c.Leases += len(e.GetOthers())
		c.Lost += len(e.GetLost())
		if e.GetRestingMs() > 0 && len(e.GetLost()) == 0 {
			c.Lost++
		}
		switch {
		case e.GetState() == messages.Event_ACQUIRED && e.GetGrant() != nil:
			c.Leases++
		case isFree(e):
			c.Free++
		}
	}
}

// isFree reports whether a resource is neither held nor held back.
func isFree(e *journal.Entry) bool {
	return (e.GetGrant() == nil || e.GetState() != messages.Event_ACQUIRED) && len(e.GetOthers()) == 0 &&
		len(e.GetLost()) == 0 && e.GetRestingMs() == 0
}
