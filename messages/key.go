package messages

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// upperHex are the digits of an escape. Lower-case digits would give a resource a second key.
const upperHex = "0123456789ABCDEF"

// plain marks the bytes that never need an escape. The dot is not one of them.
var plain = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-/") {
		t[c] = true
	}
	return t
}()

// EncodeKey returns the key of a resource, its form in a subject. It returns an [InvalidError] unless
// resource is 1 to [MaxResourceBytes] bytes of UTF-8 in NFC without control characters. It does not
// normalise: see [NormalizeResource]. A resource that needs no escape is its own key and costs no
// allocation.
func EncodeKey(resource string) (string, error) {
	if isOwnKey(resource) {
		return resource, nil
	}
	if err := checkResource("resource", resource); err != nil {
		return "", err
	}
	var buf [MaxKeyBytes]byte
	return string(appendKey(buf[:0], resource)), nil
}

// DecodeKey returns the resource of a key. It returns an [InvalidError] unless [EncodeKey] of the result
// is key again, so no two keys name one resource. A key without escapes is its own resource and costs no
// allocation.
func DecodeKey(key string) (string, error) {
	if isOwnKey(key) {
		return key, nil
	}
	if key == "" || len(key) > MaxKeyBytes {
		return "", Invalid("key", sizeRule(1, MaxKeyBytes), byteCount(key))
	}
	var buf [MaxKeyBytes]byte
	decoded, ok := appendResource(buf[:0], key)
	if !ok {
		return "", Invalid("key", `A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal`, quote(key))
	}
	resource := string(decoded)
	if err := checkResource("resource", resource); err != nil {
		return "", err
	}
	if canonical := appendKey(buf[:0], resource); string(canonical) != key {
		return "", Invalid("key", "written as "+quote(string(canonical)), quote(key))
	}
	return resource, nil
}

// NormalizeResource returns s in Unicode NFC, the only accepted form of a resource. Clients call it on
// user input, so that both encodings of "é" name one lock. After 30 combining marks in a row it inserts
// U+034F, as Unicode's stream-safe format does; [EncodeKey] refuses a longer row without it.
func NormalizeResource(s string) string {
	return norm.NFC.String(s)
}

// ShardOf returns the shard of a key: FNV-1a-32(key) mod shards. It panics if shards is 0.
func ShardOf(key string, shards uint32) uint32 {
	const offset, prime = 2166136261, 16777619 // of FNV-1a with 32 bits
	hash := uint32(offset)
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * prime
	}
	return hash % shards
}

// checkResource reports which rule s breaks as the name of a resource.
func checkResource(field, s string) error {
	switch {
	case s == "" || len(s) > MaxResourceBytes:
		return Invalid(field, sizeRule(1, MaxResourceBytes), byteCount(s))
	case !isText(s):
		return Invalid(field, textRule, quote(s))
	case !isNFC(s):
		return Invalid(field, "Unicode NFC", fmt.Sprintf("%+q", excerpt(s)))
	}
	return nil
}

// isOwnKey reports whether s is a valid resource without a byte that needs an escape. Such bytes are
// ASCII without control characters, so no other check is needed.
func isOwnKey(s string) bool {
	if s == "" || len(s) > MaxResourceBytes {
		return false
	}
	for i := range len(s) {
		if mustEscape(s, i) {
			return false
		}
	}
	return true
}

// mustEscape reports whether byte i of the resource is written =XX. A dot separates levels. NATS has no
// empty levels, so a dot that would make one is escaped.
func mustEscape(resource string, i int) bool {
	if resource[i] != '.' {
		return !plain[resource[i]]
	}
	return i == 0 || i == len(resource)-1 || resource[i-1] == '.'
}

func appendKey(dst []byte, resource string) []byte {
	for i := range len(resource) {
		c := resource[i]
		if mustEscape(resource, i) {
			dst = append(dst, '=', upperHex[c>>4], upperHex[c&0xF])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendResource decodes the escapes of key, canonical or not. It returns false if a byte of key is not
// allowed in keys.
func appendResource(dst []byte, key string) ([]byte, bool) {
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case plain[c] || c == '.':
			dst = append(dst, c)
		case c == '=' && i+2 < len(key):
			high, low := hexValue(key[i+1]), hexValue(key[i+2])
			if high < 0 || low < 0 {
				return nil, false
			}
			dst = append(dst, byte(high<<4|low))
			i += 2
		default:
			return nil, false
		}
	}
	return dst, true
}

// hexValue returns the value of an upper-case hexadecimal digit, or -1.
func hexValue(c byte) int {
	return strings.IndexByte(upperHex, c)
}

// isNFC looks into the Unicode tables only if s is not ASCII, which is always NFC.
func isNFC(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return norm.NFC.IsNormalString(s)
		}
	}
	return true
}

// isText reports whether s is valid UTF-8 without control characters, safe for terminals and logs.
func isText(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		case c < ' ' || c == 0x7f:
			return false
		}
	}
	return true
}
