package request

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
)

// names are the last parts of reply subjects: numbers of attempts and batches, encrypted. Who sees some of them can
// derive no other one, so nobody can answer a request that he has not seen. Nothing has to be remembered to know one
// again.
type names struct{ block cipher.Block }

// nameCode writes them. Each has one form.
var nameCode = base64.RawURLEncoding.Strict()

func newNames() names {
	var key [32]byte
	_, _ = rand.Read(key[:]) // it never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a wrong length
	}
	return names{block}
}

// of returns the name of an attempt, or of a batch.
func (n names) of(id uint64, batch bool) string {
	var b [aes.BlockSize]byte
	binary.BigEndian.PutUint64(b[:], id)
	if batch {
		b[aes.BlockSize-1] = 1
	}
	n.block.Encrypt(b[:], b[:])
	return nameCode.EncodeToString(b[:])
}

// number returns what has the name; not ok if nothing has.
func (n names) number(name string) (id uint64, batch, ok bool) {
	b, err := nameCode.DecodeString(name)
	if err != nil || len(b) != aes.BlockSize {
		return 0, false, false
	}
	n.block.Decrypt(b, b)
	id, rest := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	return id, rest == 1, rest <= 1
}
