package block_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/block"
	"github.com/holdfast-io/holdfast/messages"
)

// Whatever is asked for, answered, refused and lost, each token is returned once, in order, and only if an answer has
// shown it; what is asked for keeps the bounds of the contract.
func TestTokensAreGivenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(1, 1<<40).Draw(t, "first")
		has := rapid.SampledFrom([]uint32{0, 1, 2, block.First, 3_000_000_000, 3_999_999_000, messages.MaxTokens}).
			Draw(t, "size")
		b := block.New(first, has)
		has = max(has, 1)
		next, asked, refused := first, []uint32(nil), false
		t.Repeat(map[string]func(*rapid.T){
			"Take": func(t *rapid.T) {
				token, ok := b.Take()
				if want := next < first+uint64(has); ok != want || ok && token != next {
					t.Fatalf("got %d, %v; want %d, %v", token, ok, next, want)
				}
				if ok {
					next++
				}
			},
			"Ask": func(t *rapid.T) {
				n := b.Ask()
				if n == 0 {
					return
				}
				if n <= has || n-has > messages.MaxBlock || n > messages.MaxTokens || refused {
					t.Fatalf("asked for %d beside %d, refused: %v", n, has, refused)
				}
				asked = append(asked, n)
			},
			"Answer": func(t *rapid.T) {
				if len(asked) == 0 {
					t.Skip("nothing is asked for")
				}
				has = max(has, rapid.SampledFrom(asked).Draw(t, "answer"))
				b.Has(has)
			},
			"LateAnswer": func(t *rapid.T) { b.Has(rapid.Uint32Range(0, has).Draw(t, "size")) },
			"Refuse": func(*rapid.T) {
				b.Refuse()
				refused = true
			},
			"": func(t *rapid.T) {
				if used := uint64(b.Used()); used != next-first {
					t.Errorf("%d are used, want %d", used, next-first)
				}
				if b.Spent() && next < first+uint64(has) {
					t.Error("it is spent, and has tokens")
				}
			},
		})
	})
}

// A lease is asked for as many more as it has when half of them are used, up to a million, and once.
func TestGrowth(t *testing.T) {
	b := block.New(1, block.First)
	size := block.First
	for range 20 {
		for b.Used() < size/2 {
			if n := b.Ask(); n != 0 {
				t.Fatalf("asked for %d when %d of %d are used", n, b.Used(), size)
			}
			b.Take()
		}
		n := b.Ask()
		if want := size + min(size, messages.MaxBlock); n != want || b.Ask() != 0 {
			t.Fatalf("asked for %d, want %d, once", n, want)
		}
		size = n
		b.Has(size)
	}
	if size <= messages.MaxBlock {
		t.Errorf("%d tokens after twenty answers", size)
	}
}

// A lease that cannot grow is spent with its last token, not before.
func TestEndOfABlock(t *testing.T) {
	for name, end := range map[string]func(b *block.Block){
		"Refused": func(b *block.Block) { b.Refuse() },
		"Largest": func(b *block.Block) { b.Has(messages.MaxTokens); b.Ask() },
	} {
		t.Run(name, func(t *testing.T) {
			b := block.New(1, 2)
			b.Take()
			end(&b)
			if b.Spent() {
				t.Error("it is spent, and has a token left")
			}
			if name == "Largest" {
				return
			}
			if b.Take(); !b.Spent() {
				t.Error("it is not spent")
			}
		})
	}
	if b := block.New(1, messages.MaxTokens-1); b.Ask() != 0 || b.Spent() {
		t.Error("a block of which nothing is used is asked to grow, or spent")
	}
}
