package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Writer writes a backup. It is not safe for concurrent use. After an error it must not be used.
type Writer struct {
	out     *bufio.Writer
	sum     hash.Hash
	records uint64
}

// NewWriter returns a writer that has written the header. It sets the header's formats.
func NewWriter(w io.Writer, h *Header) (*Writer, error) {
	a := &Writer{sum: sha256.New()}
	a.out = bufio.NewWriterSize(io.MultiWriter(w, a.sum), 64<<10)
	if _, err := a.out.WriteString(Magic); err != nil {
		return nil, err
	}
	h.Format, h.JournalFormat = Format, journal.Format
	return a, a.write(&Record{Body: &Record_Header{Header: h}})
}

// Shard begins a shard. Shards come in the order of their numbers.
func (a *Writer) Shard(s *Shard) error { return a.write(&Record{Body: &Record_Shard{Shard: s}}) }

// Page writes a page of the shard that was begun last.
func (a *Writer) Page(p *journal.Page) error { return a.write(&Record{Body: &Record_Page{Page: p}}) }

// Close writes the end. It closes nothing.
func (a *Writer) Close() error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	if err := a.write(&Record{Body: &Record_End{End: &End{Records: a.records, Sha256: a.sum.Sum(nil)}}}); err != nil {
		return err
	}
	return a.out.Flush()
}

func (a *Writer) write(r *Record) error {
	data, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	if len(data) > maxRecord {
		return fmt.Errorf("a record of %d bytes is larger than %d", len(data), maxRecord)
	}
	var head [headBytes]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(data)))
	binary.BigEndian.PutUint32(head[4:], checksum(head[:4], data))
	for _, part := range [][]byte{head[:], data} {
		if _, err := a.out.Write(part); err != nil {
			return err
		}
	}
	a.records++
	return nil
}

// checksum returns the checksum of a record.
func checksum(length, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, data)
}
