package messages_test

import (
	"errors"
	"hash/fnv"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// kvKey is what the NATS clients accept as a key of a KV bucket, dots aside.
var kvKey = regexp.MustCompile(`^[-/_=\.a-zA-Z0-9]+$`)

func TestKeyOfResource(t *testing.T) {
	for resource, key := range map[string]string{
		// The examples of the contract.
		"orders.42":    "orders.42",
		"document:123": "document=3A123",
		"a..b":         "a.=2Eb",
		"café":         "caf=C3=A9",
		// Dots.
		".":     "=2E",
		"..":    "=2E=2E",
		".a":    "=2Ea",
		"a.":    "a=2E",
		"a..":   "a.=2E",
		"a...b": "a.=2E=2Eb",
		"..a":   "=2E=2Ea",
		"a.b.c": "a.b.c",
		// Names with a meaning elsewhere.
		"a b":              "a=20b",
		"*":                "=2A",
		">":                "=3E",
		"a/b":              "a/b",
		`a\b`:              "a=5Cb",
		"../../etc/passwd": "=2E=2E/.=2E/etc/passwd",
		"$JS.API":          "=24JS.API",
		"=":                "=3D",
		"=41":              "=3D41",
		"%2E":              "=252E",
		"🔒":                "=F0=9F=94=92",
		"замок":            "=D0=B7=D0=B0=D0=BC=D0=BE=D0=BA",
		"a\u202Eb":         "a=E2=80=AEb",
		"a\u200Bb":         "a=E2=80=8Bb",
		"-rf":              "-rf",
		"Orders":           "Orders",
		"orders":           "orders",
		"AZaz09_-/":        "AZaz09_-/",
	} {
		if got, err := messages.EncodeKey(resource); err != nil || got != key {
			t.Errorf("EncodeKey(%q) = %q, %v; want %q", resource, got, err, key)
		}
		if got, err := messages.DecodeKey(key); err != nil || got != resource {
			t.Errorf("DecodeKey(%q) = %q, %v; want %q", key, got, err, resource)
		}
	}
}

func TestLongestResource(t *testing.T) {
	for _, unit := range []string{"a", ":", "é", "🔒"} {
		resource := strings.Repeat(unit, messages.MaxResourceBytes/len(unit))
		key, err := messages.EncodeKey(resource)
		if err != nil || len(key) > messages.MaxKeyBytes {
			t.Errorf("512 bytes of %q: %d bytes of key, %v", unit, len(key), err)
		}
		if got, err := messages.DecodeKey(key); err != nil || got != resource {
			t.Errorf("512 bytes of %q do not come back: %v", unit, err)
		}
	}
}

func TestIllegalResource(t *testing.T) {
	for name, tc := range map[string]struct{ resource, want string }{
		"empty":     {"", `resource: 1 to 512 bytes, got 0 bytes`},
		"NUL":       {"a\x00b", `resource: UTF-8 without control characters, got "a\x00b"`},
		"CR LF":     {"a\r\nPUB b 0\r\n", `resource: UTF-8 without control characters, got "a\r\nPUB b 0\r\n"`},
		"tab":       {"a\tb", `resource: UTF-8 without control characters, got "a\tb"`},
		"ESC":       {"\x1b[2J", `resource: UTF-8 without control characters, got "\x1b[2J"`},
		"DEL":       {"a\x7f", `resource: UTF-8 without control characters, got "a\x7f"`},
		"U+0080":    {"a\u0080", `resource: UTF-8 without control characters, got "a\u0080"`},
		"U+009F":    {"a\u009f", `resource: UTF-8 without control characters, got "a\u009f"`},
		"not UTF-8": {"a\xff\xfe", `resource: UTF-8 without control characters, got "a\xff\xfe"`},
		"surrogate": {"\xed\xa0\x80", `resource: UTF-8 without control characters, got "\xed\xa0\x80"`},
		"overlong":  {"\xc0\xaf", `resource: UTF-8 without control characters, got "\xc0\xaf"`},
		"not NFC":   {"cafe\u0301", `resource: Unicode NFC, got "cafe\u0301"`},
		"endless marks": {"a" + strings.Repeat("\u0316", 31),
			`resource: Unicode NFC, got "a` + strings.Repeat(`\u0316`, 31) + `"`},
		"513 bytes":    {strings.Repeat("a", 513), `resource: 1 to 512 bytes, got 513 bytes`},
		"4 200 bytes":  {strings.Repeat(":", 4200), `resource: 1 to 512 bytes, got 4200 bytes`},
		"70 000 bytes": {strings.Repeat("é", 35000), `resource: 1 to 512 bytes, got 70000 bytes`},
		"long and wrong": {strings.Repeat("a", 63) + "é\x00",
			`resource: UTF-8 without control characters, got "` + strings.Repeat("a", 63) + `"... (66 bytes)`},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := messages.EncodeKey(tc.resource)
			wantInvalid(t, err, tc.want)
			if key != "" {
				t.Errorf("key %q beside the error", key)
			}
		})
	}
}

func TestIllegalKey(t *testing.T) {
	for key, want := range map[string]string{
		"":                        `key: 1 to 1536 bytes, got 0 bytes`,
		strings.Repeat("a", 1537): `key: 1 to 1536 bytes, got 1537 bytes`,
		strings.Repeat("a", 513):  `resource: 1 to 512 bytes, got 513 bytes`,
		"a..b":                    `key: written as "a.=2Eb", got "a..b"`,
		".a":                      `key: written as "=2Ea", got ".a"`,
		"a.":                      `key: written as "a=2E", got "a."`,
		"a=2Eb":                   `key: written as "a.b", got "a=2Eb"`,
		"a=2E=2Eb":                `key: written as "a.=2Eb", got "a=2E=2Eb"`,
		"=2E.a":                   `key: written as "=2E=2Ea", got "=2E.a"`,
		"=41":                     `key: written as "A", got "=41"`,
		"a=2F":                    `key: written as "a/", got "a=2F"`,
		"=2e":                     `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "=2e"`,
		"=c3=a9":                  `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "=c3=a9"`,
		"=2":                      `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "=2"`,
		"a=":                      `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "a="`,
		"=G0":                     `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "=G0"`,
		"=0G":                     `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "=0G"`,
		"a:b":                     `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "a:b"`,
		"*":                       `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "*"`,
		"é":                       `key: A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, got "é"`,
		"a=00":                    `resource: UTF-8 without control characters, got "a\x00"`,
		"a=FF":                    `resource: UTF-8 without control characters, got "a\xff"`,
		"cafe=CC=81":              `resource: Unicode NFC, got "cafe\u0301"`,
	} {
		resource, err := messages.DecodeKey(key)
		wantInvalid(t, err, want)
		if resource != "" {
			t.Errorf("DecodeKey(%q) = %q beside the error", key, resource)
		}
	}
}

// The number of levels is not limited, the number of bytes is.
func TestManyLevels(t *testing.T) {
	for key, levels := range map[string]int{
		strings.Repeat("a.", 255) + "a": 256,
		"a" + strings.Repeat(".b", 100): 101,
	} {
		if got, err := messages.DecodeKey(key); err != nil || strings.Count(got, ".")+1 != levels {
			t.Errorf("%d levels: %d, %v", levels, strings.Count(got, ".")+1, err)
		}
	}
	_, err := messages.DecodeKey(strings.Repeat("a.", 499) + "a")
	wantInvalid(t, err, "resource: 1 to 512 bytes, got 999 bytes")
}

func TestNormalizeResource(t *testing.T) {
	if got := messages.NormalizeResource("cafe\u0301"); got != "café" {
		t.Errorf("NormalizeResource = %+q", got)
	}
}

func TestNormalizedResourceIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := messages.NormalizeResource(rapid.StringN(1, 100, 400).Draw(t, "s"))
		_, err := messages.EncodeKey(s)
		if invalid, ok := errors.AsType[*messages.InvalidError](err); ok && invalid.Rule == "Unicode NFC" {
			t.Fatalf("%+q is not NFC after all", s)
		}
	})
}

func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resource := resources().Draw(t, "resource")
		key, err := messages.EncodeKey(resource)
		if err != nil {
			t.Fatalf("EncodeKey(%q): %v", resource, err)
		}
		if got, err := messages.DecodeKey(key); err != nil || got != resource {
			t.Fatalf("DecodeKey(%q) = %q, %v; want %q", key, got, err, resource)
		}
		checkLegalKey(t, key)
	})
}

func TestKeysAreOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := resources().Draw(t, "a"), resources().Draw(t, "b")
		if (a == b) != (mustKey(t, a) == mustKey(t, b)) {
			t.Fatalf("%q and %q have the keys %q and %q", a, b, mustKey(t, a), mustKey(t, b))
		}
	})
}

// Each valid key is the only key of its resource; most strings are invalid.
func TestAcceptedKeyIsCanonical(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", "B", "/", "-", ".", "..", "=2E", "=3A", "=41", "=C3=A9", "=2e", "=",
		"=7F", ":"})
	rapid.Check(t, func(t *rapid.T) {
		key := strings.Join(rapid.SliceOfN(pieces, 1, 6).Draw(t, "pieces"), "")
		resource, err := messages.DecodeKey(key)
		if err != nil {
			return
		}
		if got := mustKey(t, resource); got != key {
			t.Fatalf("DecodeKey(%q) = %q, of which the key is %q", key, resource, got)
		}
	})
}

func TestShardOf(t *testing.T) {
	for key, want := range map[string]uint32{ // reference values of FNV-1a
		"":       0x811c9dc5,
		"a":      0xe40c292c,
		"foobar": 0xbf9cf968,
	} {
		if got := messages.ShardOf(key, 1<<31); got != want%(1<<31) {
			t.Errorf("ShardOf(%q) = %#x, want %#x", key, got, want%(1<<31))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		key, shards := rapid.String().Draw(t, "key"), rapid.Uint32Min(1).Draw(t, "shards")
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(key))
		if got, want := messages.ShardOf(key, shards), hash.Sum32()%shards; got != want {
			t.Fatalf("ShardOf(%q, %d) = %d, want %d", key, shards, got, want)
		}
	})
}

func TestPlainKeysCostNoAllocation(t *testing.T) {
	wantNoAllocation(t, "EncodeKey", func() { _, _ = messages.EncodeKey("orders.42") })
	wantNoAllocation(t, "DecodeKey", func() { _, _ = messages.DecodeKey("orders.42") })
	wantNoAllocation(t, "ShardOf", func() { _ = messages.ShardOf("orders.42", 8) })
}

func FuzzKey(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{
		"orders.42", "document:123", "a..b", "café", "cafe\u0301", ".", "a.=2Eb", "caf=C3=A9", "=2e", "=41",
		"=2", "a\x00", "a\xff", "../../etc/passwd", "🔒", "\u202e", "a\u0316\u0301", strings.Repeat("=", 512),
	} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, s string) {
		if key, err := messages.EncodeKey(s); err == nil {
			checkLegalKey(t, key)
			if got, err := messages.DecodeKey(key); err != nil || got != s {
				t.Errorf("DecodeKey(EncodeKey(%q)) = %q, %v", s, got, err)
			}
		} else {
			checkInvalid(t, err)
		}
		if resource, err := messages.DecodeKey(s); err == nil {
			if got := mustKey(t, resource); got != s {
				t.Errorf("EncodeKey(DecodeKey(%q)) = %q", s, got)
			}
		} else {
			checkInvalid(t, err)
		}
	})
}

func BenchmarkEncodeKey(b *testing.B) {
	benchmarkKeys(b, messages.EncodeKey, "orders.42", "document:123", "café/крючок")
}

func BenchmarkDecodeKey(b *testing.B) {
	benchmarkKeys(b, messages.DecodeKey, "orders.42", "document=3A123", mustKey(b, "café/крючок"))
}

func benchmarkKeys(b *testing.B, convert func(string) (string, error), plain, escaped, foreign string) {
	b.Helper()
	for name, s := range map[string]string{"plain": plain, "escaped": escaped, "foreign": foreign} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := convert(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// resources draws valid resources, with many bytes that keys treat specially.
func resources() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]rune(`..:=*>/ %é🔒`))
	legal := rapid.OneOf(odd, rapid.RuneFrom([]rune("aZ09_-")), rapid.Rune())
	return rapid.Custom(func(t *rapid.T) string {
		return messages.NormalizeResource(string(rapid.SliceOfN(legal, 1, 40).Draw(t, "runes")))
	}).Filter(func(s string) bool {
		_, err := messages.EncodeKey(s)
		return err == nil
	})
}

// checkLegalKey fails unless NATS accepts key as a subject and as a key of a KV bucket.
func checkLegalKey(t errorer, key string) {
	t.Helper()
	if !kvKey.MatchString(key) || strings.HasPrefix(key, ".") || strings.HasSuffix(key, ".") ||
		strings.Contains(key, "..") {
		t.Errorf("%q is no key for NATS", key)
	}
}

func mustKey(t fataler, resource string) string {
	t.Helper()
	key, err := messages.EncodeKey(resource)
	if err != nil {
		t.Fatalf("EncodeKey(%q): %v", resource, err)
	}
	return key
}
