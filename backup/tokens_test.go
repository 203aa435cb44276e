package backup_test

import (
	"bytes"
	"context"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// names are the resources of a [deployment].
var names = []string{
	"a", "b", "c", messages.Qualify("ORDERS", "a"), messages.Qualify("BILLING", "a"),
}

// deployment is one after another: the first, what was restored in its place, and so on.
type deployment struct {
	shards []*shard
	// present is how many restores there were.
	present int
	// issued is the highest token that was ever issued of each resource.
	issued map[string]uint64
	// spent is what --ahead of a restore has to cover, from the beginning: tokens, of which a reservation for an
	// ephemeral lease takes 1 000, and each --ahead.
	spent uint64
}

// copied is a backup.
type copied struct {
	file           []byte
	present, spent uint64
	// images are those of all names when their shard was copied.
	images map[string]lease.Image
}

// image is what the owner of a resource knows.
func (d *deployment) image(t tb, name string) lease.Image {
	t.Helper()
	return d.shards[shardOf(t, name, len(d.shards))].ledger.Image(name)
}

// decide lets an owner that has just opened the shard of a resource decide.
func (d *deployment) decide(t tb, name string, e lease.Event) *messages.Reply {
	t.Helper()
	s := d.shards[shardOf(t, name, len(d.shards))]
	state := lease.New(name, s.ledger.Image(name), lease.NewEndedRequests(), lease.NewSessions(1))
	o := state.Step(lease.Time{}, e)
	s.commit(t, o.Changes...)
	return o.Answers[len(o.Answers)-1].Reply
}

// grant lets the resource be acquired, or the lease that is held be downgraded, and checks that its token is new.
func (d *deployment) grant(t tb, name string, e lease.Event, cost uint64) {
	t.Helper()
	switch r := d.decide(t, name, e); r.GetStatus() {
	case messages.Status_GRANTED, messages.Status_EXTENDED:
		l := r.GetLease()
		if l.GetToken() <= d.issued[name] {
			t.Fatal(name, "has token", l.GetToken(), "after token", d.issued[name])
		}
		d.issued[name], d.spent = lastOf(l), d.spent+cost+uint64(max(l.GetTokens(), 1)-1)
	case messages.Status_HELD, messages.Status_NOT_HELD, messages.Status_EXPIRED, messages.Status_HELD_BACK:
	default:
		t.Fatal(name, r)
	}
}

// lastOf is the last token of a lease.
func lastOf(l *messages.Lease) uint64 {
	return uint64(messages.Token(l.GetToken()).Last(l.GetTokens()))
}

// grow lets a lease have more tokens, if it may, and checks that these are new.
func (d *deployment) grow(t *rapid.T) {
	name := rapid.SampledFrom(names).Draw(t, "resource")
	image := d.image(t, name)
	if !image.Held() || image.Counts().Shared > 0 {
		return
	}
	before := image.Last().Grant
	r := d.decide(t, name, lease.Extend{Request: &messages.ExtendRequest{
		Owner: "o", TtlMs: 1000, Secret: []byte("secret"), Tokens: max(before.GetTokens(), 1) + 50,
		Order: rapid.Uint64Range(0, 2).Draw(t, "order"),
	}})
	switch r.GetStatus() {
	case messages.Status_EXTENDED:
		if uint64(before.Last()) < d.issued[name] {
			t.Fatal(name, "has tokens behind", before.Last(), "and token", d.issued[name], "was issued")
		}
		d.issued[name], d.spent = lastOf(r.GetLease()), d.spent+50
	case messages.Status_EXHAUSTED:
		if uint64(before.Last()) == uint64(image.Token()) {
			t.Fatal(name, r)
		}
	default:
		t.Fatal(name, r)
	}
}

func (d *deployment) acquire(t *rapid.T, durability messages.Durability, cost uint64) {
	d.acquireOne(t, rapid.SampledFrom(names).Draw(t, "resource"), durability, cost)
}

func (d *deployment) acquireOne(t *rapid.T, name string, durability messages.Durability, cost uint64) {
	r := &messages.AcquireRequest{Owner: "o", TtlMs: 1000, Durability: durability}
	if r.Limit = rapid.SampledFrom([]uint32{0, 3}).Draw(t, "limit"); r.Limit == 0 {
		r.SecretHash = messages.HashSecret([]byte("secret"))
		r.Tokens = rapid.SampledFrom([]uint32{0, 7, 3000}).Draw(t, "tokens")
		if durability == messages.Durability_PERSISTENT {
			r.MinHoldMs = rapid.SampledFrom([]uint32{0, 0, 5000}).Draw(t, "hold")
		}
	}
	d.grant(t, name, lease.Acquire{Request: r}, cost)
}

// end ends all leases of a resource, and the rest of one that has ended.
func (d *deployment) end(t tb, name string) {
	t.Helper()
	image := d.image(t, name)
	for l := range image.Ended() {
		d.decide(t, name, lease.Confirm{Request: &messages.ConfirmRequest{Token: l.Grant.GetToken()}})
	}
	for h := range image.Holdings() {
		d.decide(t, name, lease.Break{Request: &messages.BreakRequest{Token: h.Grant.GetToken()}})
	}
}

// renew ends a resource, forgets it and all others that are free, and acquires it.
func (d *deployment) renew(t *rapid.T) {
	name := rapid.SampledFrom(names).Draw(t, "resource")
	d.end(t, name)
	d.end(t, name) // it may rest
	d.shards[shardOf(t, name, len(d.shards))].compact(t, 0)
	d.acquireOne(t, name, messages.Durability_PERSISTENT, 1)
}

func (d *deployment) downgrade(t *rapid.T) {
	name := rapid.SampledFrom(names).Draw(t, "resource")
	if image := d.image(t, name); image.Counts().Shared > 0 || image.Last().Grant.GetMinHoldMs() > 0 {
		return // it would be repeated, or refused
	}
	d.grant(t, name, lease.Extend{Request: &messages.ExtendRequest{Owner: "o", TtlMs: 1000, Limit: 3,
		Secret: []byte("secret")}}, 1)
}

// compact forgets all but some free resources of a shard.
func (d *deployment) compact(t *rapid.T) {
	shard := rapid.IntRange(0, len(d.shards)-1).Draw(t, "shard")
	d.shards[shard].compact(t, rapid.IntRange(0, 9).Draw(t, "remember"))
}

// work grants, ends and forgets.
func (d *deployment) work() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"acquire":   func(t *rapid.T) { d.acquire(t, messages.Durability_PERSISTENT, 1) },
		"ephemeral": func(t *rapid.T) { d.acquire(t, messages.Durability_EPHEMERAL, 1000) },
		"downgrade": d.downgrade,
		"grow":      d.grow,
		"end":       func(t *rapid.T) { d.end(t, rapid.SampledFrom(names).Draw(t, "resource")) },
		"renew":     d.renew,
		"compact":   d.compact,
	}
}

// copy makes a backup. Between two shards the work goes on.
func (d *deployment) copy(t *rapid.T) *copied {
	c := &copied{present: uint64(d.present), spent: d.spent, images: map[string]lease.Image{}}
	var file bytes.Buffer
	h := &archive.Header{Prefix: "holdfast", Shards: uint32(len(d.shards)), AtMs: 1}
	_, err := backup.Copy(context.Background(), &file, h, func(n uint32) backup.Source {
		if n > 0 {
			for range rapid.IntRange(0, 3).Draw(t, "meanwhile") {
				d.acquire(t, messages.Durability_PERSISTENT, 1)
			}
		}
		for _, name := range names {
			if shardOf(t, name, len(d.shards)) == n {
				c.images[name] = d.image(t, name)
			}
		}
		return d.shards[n]
	}, func(float64) {})
	check(t, err)
	c.file = file.Bytes()
	return c
}

// restore puts the backup in the place of the present deployment, with no larger --ahead than it takes, or with more.
func (d *deployment) restore(t *rapid.T, c *copied) {
	ahead := d.spent - c.spent + rapid.SampledFrom([]uint64{0, 0, 0, 1, 1_000_000}).Draw(t, "more")
	if ahead > backup.MaxAhead {
		return // each restore of a backup takes as much as all those before it, and 20 of them too much
	}
	filled, after := restore(t, c.file, uint32(rapid.IntRange(1, 4).Draw(t, "shards")), ahead)
	ledgers := open(t, filled, after)
	for _, s := range d.shards {
		before, now := s.ledger.Head(), ledgers[0].Head()
		if c.present == uint64(d.present) && (after < s.Last() || now.Number <= before.Number ||
			now.Epoch <= before.Epoch) {
			t.Fatalf("begins behind position %d with %+v, it was at %d, %+v", after, now, s.Last(), before)
		}
	}
	for name, was := range c.images {
		image := of(t, ledgers, name)
		if uint64(image.Token()) < d.issued[name] {
			t.Fatalf("%s has had token %d, and is to go on behind token %d", name, d.issued[name], image.Token())
		}
		if got, want := image.HeldBack(), was.HeldBack(); got != want {
			t.Fatalf("%s: nothing is granted: %v, was %v", name, got, want)
		}
		if got, want := grants(image), grants(was); len(got) != len(want) || !proto.Equal(&journal.Page{Entries: got}, &journal.Page{Entries: want}) {
			t.Fatalf("%s is held by %v, was by %v", name, got, want)
		}
		if ahead == 0 && was.Last().Grant != nil && image.Token() != was.Token() {
			t.Fatalf("with --ahead 0 token %d of %s has become %d", was.Token(), name, image.Token())
		}
	}
	d.shards, d.present, d.spent = nil, d.present+1, d.spent+ahead
	for i, l := range ledgers {
		l.Restart(lease.Time{}, func(string, *lease.Image) {})
		s := &shard{Memory: filled[i], ledger: l}
		s.append(t, l.TakeOver(&journal.Writer{Node: "n"}, 0))
		d.shards = append(d.shards, s)
	}
}

// grants are the leases that are held, and those that have ended and hold the resource back.
func grants(i lease.Image) (all []*journal.Entry) {
	for l := range i.Ended() {
		all = append(all, &journal.Entry{Grant: l.Grant, State: l.How, RestingMs: l.RestMs})
	}
	for h := range i.Holdings() {
		all = append(all, &journal.Entry{Grant: h.Grant})
	}
	return all
}

// idle lets a shard prove that it has its owner, as for a read: that takes a position, and no token.
func (d *deployment) idle(t *rapid.T) {
	for _, s := range d.shards {
		s.append(t, s.ledger.Next(&journal.Writer{Node: "n"}, 0))
	}
}

// Whatever was granted, ended and forgotten before and after backups, and restored into whatever number of shards: if
// --ahead is what the manual demands, no token is issued that is not above all that were ever issued of its resource.
// Each lease of the backup is held under its token, and positions go on above those that there were.
func TestRestoredTokens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &deployment{issued: map[string]uint64{}}
		for range rapid.IntRange(1, 3).Draw(t, "shards") {
			d.shards = append(d.shards, newShard(t))
		}
		var copies []*copied
		actions := d.work()
		actions["idle"] = d.idle
		actions["copy"] = func(t *rapid.T) { copies = append(copies, d.copy(t)) }
		actions["restore"] = func(t *rapid.T) {
			if len(copies) > 0 {
				d.restore(t, copies[rapid.IntRange(0, len(copies)-1).Draw(t, "backup")])
			}
		}
		t.Repeat(actions)
	})
}

// A name that was granted once after the backup may have a token that is hundreds above: both names are forgotten, and
// the other one had more. Some names are held in the backup. The restored shards are others, too.
func TestRestoreOfForgottenNames(t *testing.T) {
	t.Parallel()
	for _, shards := range []uint32{1, 2, 5} {
		d := &deployment{shards: []*shard{newShard(t), newShard(t)}, issued: map[string]uint64{}}
		acquire := func(name string) {
			d.grant(t, name, lease.Acquire{Request: &messages.AcquireRequest{Owner: "o", TtlMs: 1000}}, 1)
		}
		d.grant(t, "a", lease.Acquire{Request: &messages.AcquireRequest{Owner: "o", TtlMs: 1000, Tokens: 400}}, 1)
		d.end(t, "a")
		for range 100 {
			acquire("a")
			d.end(t, "a")
		}
		for _, name := range names[1:4] {
			acquire(name) // held
		}
		file, spent := copyOf(t, d.shards), d.spent
		for _, name := range names {
			d.end(t, name)
		}
		for _, s := range d.shards {
			s.compact(t, 0)
		}
		for _, name := range names {
			acquire(name)
		}
		filled, after := restore(t, file, shards, d.spent-spent)
		d.shards = nil
		for i, l := range open(t, filled, after) {
			l.Restart(lease.Time{}, func(string, *lease.Image) {})
			d.shards = append(d.shards, &shard{Memory: filled[i], ledger: l})
		}
		for _, name := range names {
			d.end(t, name)
			acquire(name)
		}
	}
}
