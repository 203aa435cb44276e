package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Reader reads a backup. What it returns is verified record by record, and as a whole only when [Reader.Next] has
// returned [io.EOF]. It is not safe for concurrent use.
type Reader struct {
	in      *bufio.Reader
	sum     hash.Hash
	read    int64
	records uint64
	header  *Header
	// shards counts the shards that were begun, covered says how much of the hashes the pages of the last one cover.
	shards  uint32
	covered uint64
	end     *End
}

// NewReader returns a reader that has read the header.
func NewReader(r io.Reader) (*Reader, error) {
	a := &Reader{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	magic := make([]byte, len(Magic))
	switch _, err := io.ReadFull(a.in, magic); {
	case isShort(err) || err == nil && string(magic) != Magic:
		return nil, ErrForeign
	case err != nil:
		return nil, err
	}
	a.take(magic)
	first, err := a.record()
	if err != nil {
		return nil, err
	}
	h := first.GetHeader()
	switch {
	case h.GetFormat() > Format:
		return nil, fmt.Errorf("%w: %d, this version reads up to %d; upgrade", ErrNewer, h.GetFormat(), Format)
	case h.GetJournalFormat() > journal.Format:
		return nil, fmt.Errorf("%w of its records: %d, this version reads up to %d; upgrade", ErrNewer,
			h.GetJournalFormat(), journal.Format)
	case h.GetFormat() == 0 || h.GetJournalFormat() == 0 || h.GetShards() == 0:
		return nil, a.damaged("it has no header")
	}
	a.header = h
	return a, nil
}

// Header returns the header.
func (a *Reader) Header() *Header { return a.header }

// Read returns how many bytes have been read.
func (a *Reader) Read() int64 { return a.read }

// Sum returns the checksum of the file, nil until [Reader.Next] has returned [io.EOF].
func (a *Reader) Sum() []byte { return a.end.GetSha256() }

// Next returns the next shard or page, and [io.EOF] behind the last one, if the file is whole.
func (a *Reader) Next() (*Record, error) {
	if a.end != nil {
		return nil, io.EOF
	}
	sum := a.sum.Sum(nil)
	r, err := a.record()
	if err != nil {
		return nil, err
	}
	switch body := r.GetBody().(type) {
	case *Record_Shard:
		return r, a.shard(body.Shard)
	case *Record_Page:
		return r, a.page(body.Page)
	case *Record_End:
		return nil, a.finish(body.End, sum)
	}
	return nil, a.damaged("it has a record of an unknown kind")
}

// record reads one record and compares its checksum.
func (a *Reader) record() (*Record, error) {
	var head [headBytes]byte
	switch _, err := io.ReadFull(a.in, head[:]); {
	case isShort(err):
		return nil, a.damaged("it ends too early")
	case err != nil:
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > maxRecord {
		return nil, a.damaged("a record has an impossible length")
	}
	data := make([]byte, length)
	switch _, err := io.ReadFull(a.in, data); {
	case isShort(err):
		return nil, a.damaged("it ends too early")
	case err != nil:
		return nil, err
	}
	if checksum(head[:4], data) != binary.BigEndian.Uint32(head[4:]) {
		return nil, a.damaged("the checksum of a record is wrong")
	}
	r := new(Record)
	if err := proto.Unmarshal(data, r); err != nil {
		return nil, a.damaged("a record cannot be decoded")
	}
	a.take(head[:])
	a.take(data)
	a.records++
	return r, nil
}

// take counts what was read.
func (a *Reader) take(data []byte) {
	a.sum.Write(data)
	a.read += int64(len(data))
}

func (a *Reader) shard(s *Shard) error {
	if s.GetShard() != a.shards || a.shards == a.header.GetShards() || a.shards > 0 && !a.isCovered() {
		return a.damaged("its shards are not in order")
	}
	a.shards++
	a.covered = 0
	return nil
}

// page checks that a page follows the one before it, and that its entries can be what a node has stored.
func (a *Reader) page(p *journal.Page) error {
	const depths = 32
	depth := p.GetDepth()
	if a.shards == 0 || depth > depths || uint64(p.GetPrefix())<<(depths-depth) != a.covered || a.isCovered() {
		return a.damaged("its pages are not in order")
	}
	for _, e := range p.GetEntries() {
		if _, err := messages.KeyOf(e.Name()); err != nil || !p.Covers(e.Name()) {
			return a.damaged(fmt.Sprintf("page %s has the resource %s, which does not belong there", p.Name(),
				messages.QuoteResource(e.Name())))
		}
	}
	a.covered += 1 << (depths - depth)
	return nil
}

// isCovered reports whether the pages of the last shard cover all hashes.
func (a *Reader) isCovered() bool { return a.covered == 1<<32 }

// finish checks the file as a whole; sum is that of all bytes before the end.
func (a *Reader) finish(end *End, sum []byte) error {
	switch _, err := a.in.ReadByte(); {
	case err == nil:
		return a.damaged("something follows its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	if !bytes.Equal(end.GetSha256(), sum) || end.GetRecords() != a.records-1 || a.shards != a.header.GetShards() ||
		!a.isCovered() {
		return a.damaged("its end does not match what precedes it")
	}
	a.end = end
	return io.EOF
}

func (a *Reader) damaged(how string) error {
	return fmt.Errorf("%w: %s, behind byte %d", ErrDamaged, how, a.read)
}

// isShort reports whether the input ended before a read was complete.
func isShort(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
