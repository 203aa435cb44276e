package fencekv_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
)

// TestOtherReaders see the value alone, whatever it looks like.
func TestOtherReaders(t *testing.T) {
	b, kv, _ := mustOpen(t)
	for _, value := range []string{"paid", "", "000000000000099", "Fencing-Token: 000000000000099\r\n\r\n", "\x00\xff",
		strings.Repeat("x", 100_000)} {
		mustPut(t, b, claim(34), value)
		wantEntry(t, b, claim(34), value)
		e, err := kv.Get(t.Context(), "orders.42")
		if err != nil || string(e.Value()) != value {
			t.Errorf("another reader sees %.30q, %v; want %.30q", e.Value(), err, value)
		}
	}
	_, err := b.Put(t.Context(), claim(33), nil)
	wantError(t, err, fence.ErrStale)
}

func TestLongNames(t *testing.T) {
	b, _, _ := mustOpen(t)
	for i, resource := range []string{
		strings.Repeat("a", 512), strings.Repeat("a", 511) + "b", strings.Repeat("=", 512), strings.Repeat(".", 512),
		strings.Repeat("🔒", 128),
	} {
		c := fence.Claim{Resource: resource, Token: fence.Token(10 - i)}
		mustPut(t, b, c, resource)
		wantEntry(t, b, c, resource)
	}
	_, err := b.Get(t.Context(), strings.Repeat("a", 513))
	wantError(t, err, fence.ErrInvalid)
}

func TestUpdate(t *testing.T) {
	b, _, _ := mustOpen(t)
	update := func(token fence.Token, value string, revision uint64) (uint64, error) {
		return b.Update(t.Context(), claim(token), []byte(value), revision)
	}
	first, err := update(33, "first", 0)
	wantError(t, err, nil)
	_, err = update(33, "created twice", 0)
	wantError(t, err, jetstream.ErrKeyRevisionMismatch)
	second, err := update(34, "second", first)
	wantError(t, err, nil)
	_, err = update(34, "of an old revision", first)
	wantError(t, err, jetstream.ErrKeyRevisionMismatch)
	_, err = update(33, "of an old holder", second)
	wantError(t, err, fence.ErrStale)
	wantEntry(t, b, claim(34), "second")
	if second <= first {
		t.Errorf("revision %d after %d", second, first)
	}
}

// TestDelete leaves a mark that also outlives the purge of delete markers.
func TestDelete(t *testing.T) {
	b, kv, _ := mustOpen(t)
	wantError(t, b.Delete(t.Context(), claim(33)), nil) // there is nothing yet but the mark
	mustPut(t, b, claim(34), "paid")
	wantError(t, b.Delete(t.Context(), claim(33)), fence.ErrStale)
	wantEntry(t, b, claim(34), "paid")

	wantError(t, b.Delete(t.Context(), claim(34)), nil)
	if err := kv.PurgeDeletes(t.Context(), jetstream.DeleteMarkersOlderThan(-1)); err != nil {
		t.Fatal(err)
	}
	_, err := b.Get(t.Context(), "orders.42")
	wantError(t, err, jetstream.ErrKeyNotFound)
	_, err = b.Put(t.Context(), claim(33), []byte("late"))
	wantError(t, err, fence.ErrStale)
	mustPut(t, b, claim(34), "again")
	wantEntry(t, b, claim(34), "again")
}

func TestRaise(t *testing.T) {
	b, _, s := mustOpen(t)
	wantError(t, b.Raise(t.Context(), claim(33)), nil)
	_, err := b.Get(t.Context(), "orders.42")
	wantError(t, err, jetstream.ErrKeyNotFound)
	mustPut(t, b, claim(33), "paid")
	wantError(t, b.Raise(t.Context(), claim(34)), nil)
	wantEntry(t, b, claim(34), "paid")

	wantError(t, mustGuard(t, s, "orders", fencekv.WithRule(fence.Once)).Raise(t.Context(), claim(34)), fence.ErrSpent)
	wantError(t, b.Raise(t.Context(), claim(33)), fence.ErrStale)
	wantEntry(t, b, claim(34), "paid")
}

// TestRaiseWrites also to the mark that it has read, because a replica that is behind may have said so.
func TestRaiseWrites(t *testing.T) {
	b, _, s := mustOpen(t)
	wantError(t, b.Raise(t.Context(), claim(34)), nil)
	before := lastRevision(t, s)
	wantError(t, b.Raise(t.Context(), claim(34)), nil)
	if after := lastRevision(t, s); after != before+1 {
		t.Errorf("the last revision was %d and is %d", before, after)
	}
}

// TestRaiseDeleted raises the mark of what was deleted, and does not bring it back.
func TestRaiseDeleted(t *testing.T) {
	b, _, _ := mustOpen(t)
	mustPut(t, b, claim(33), "paid")
	wantError(t, b.Delete(t.Context(), claim(33)), nil)
	wantError(t, b.Raise(t.Context(), claim(34)), nil)
	_, err := b.Get(t.Context(), "orders.42")
	wantError(t, err, jetstream.ErrKeyNotFound)
}

// TestModify distinguishes an entry without a value from one that is not there.
func TestModify(t *testing.T) {
	b, _, _ := mustOpen(t)
	var seen [][]byte
	modify := func() {
		t.Helper()
		wantError(t, b.Modify(t.Context(), claim(34), func(old []byte) ([]byte, error) {
			seen = append(seen, old)
			return nil, nil
		}), nil)
	}
	wantError(t, b.Raise(t.Context(), claim(34)), nil)
	modify()
	modify()
	wantError(t, b.Delete(t.Context(), claim(34)), nil)
	modify()
	if len(seen) != 3 || seen[0] != nil || seen[1] == nil || seen[2] != nil {
		t.Errorf("saw %#v", seen)
	}
	wantEntry(t, b, claim(34), "")
}
