package journal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
)

// The keys of a bucket begin with one of these prefixes.
const (
	CommitKeys = "journal." // followed by the number of the commit
	PageKeys   = "state."   // followed by the name of the page
	// RegisterKey is the only key in the bucket of the register.
	RegisterKey = "register"
)

// CommitKey returns the key of the commit of this number.
func CommitKey(number uint64) string { return CommitKeys + strconv.FormatUint(number, 10) }

// Key returns the key under which the record is stored. It returns an error if the record holds nothing that is known.
func (x *Record) Key() (string, error) {
	switch body := x.GetBody().(type) {
	case *Record_Commit:
		return CommitKey(body.Commit.GetNumber()), nil
	case *Record_Page:
		return PageKeys + body.Page.Name(), nil
	case *Record_Register:
		return RegisterKey, nil
	default:
		return "", errors.New("record holds neither a commit nor a page")
	}
}

// Encode returns the record's key and bytes. It returns the key with an error, too, if the key is known.
func Encode(r *Record) (key string, data []byte, err error) {
	if key, err = r.Key(); err != nil {
		return "", nil, err
	}
	if err = r.checkFormat(); err != nil {
		return key, nil, err
	}
	data, err = proto.Marshal(r)
	return key, data, err
}

// Decode returns the record that is stored under the key. It returns an error if the bytes are not a
// record, if the record's format is newer than [Format], or if the record belongs under another key.
func Decode(key string, data []byte) (*Record, error) {
	if !strings.HasPrefix(key, CommitKeys) && !strings.HasPrefix(key, PageKeys) && key != RegisterKey {
		return nil, errors.New("not a key of Holdfast")
	}
	r := new(Record)
	if err := proto.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	if err := r.checkFormat(); err != nil {
		return nil, err
	}
	want, err := r.Key()
	if err != nil {
		return nil, err
	}
	if want != key {
		return nil, fmt.Errorf("holds the %s, which belongs at %s", r.Describe(), want)
	}
	return r, nil
}

func (x *Record) checkFormat() error {
	switch format := x.GetFormat(); {
	case format == 0:
		return errors.New("the record has no format")
	case format > Format:
		return fmt.Errorf("format %d is newer than %d, the newest that this version reads: upgrade", format, Format)
	}
	return nil
}
