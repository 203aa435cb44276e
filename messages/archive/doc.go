// Package archive describes the file of a backup: its records, their framing and their checksums.
//
// A file begins with a line of text, [Magic]. Each [Record] follows as its length and its CRC-32C, four bytes each and
// big-endian, and its protobuf encoding. The checksum covers the length too. The last record, [End], has the SHA-256 of
// everything before it, so a file that was cut or changed is recognised wherever that happened. The pages are those of
// a bucket, of package journal. The package reads and writes no storage.
package archive

import (
	"errors"
	"hash/crc32"
)

// Format is the newest format of a file that this code writes and reads.
const Format = 1

// Magic is what every file begins with, in every format.
const Magic = "holdfast backup\n"

// maxRecord bounds a record: a page is one message of a bucket, of 1 MB at most by default.
const maxRecord = 8 << 20

// headBytes is the length of a record and its checksum.
const headBytes = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of [Reader], for [errors.Is].
var (
	// ErrForeign says that the file is no backup of Holdfast.
	ErrForeign = errors.New("the file is no backup of Holdfast")
	// ErrNewer says that a newer version has written the file.
	ErrNewer = errors.New("the backup has a newer format")
	// ErrDamaged says that the file was cut or changed. Nothing in it can be relied on.
	ErrDamaged = errors.New("the backup is damaged")
)
