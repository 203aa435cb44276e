package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"google.golang.org/protobuf/proto"
)

// Forge returns a file with these bytes as its records, whatever they are, and with the checksums and the end that
// belong to them.
func Forge(records ...[]byte) []byte {
	var file bytes.Buffer
	file.WriteString(Magic)
	add := func(data []byte) {
		head := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		file.Write(binary.BigEndian.AppendUint32(head, checksum(head, data)))
		file.Write(data)
	}
	for _, data := range records {
		add(data)
	}
	sum := sha256.Sum256(file.Bytes())
	end, err := proto.Marshal(&Record{Body: &Record_End{End: &End{Records: uint64(len(records)), Sha256: sum[:]}}})
	if err != nil {
		panic(err)
	}
	add(end)
	return file.Bytes()
}
