package contract

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// unpack returns a new directory with what is in an archive.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	stand.Must(t, extract(archive, dir))
	return dir
}

func extract(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Join(dir, h.Name) //nolint:gosec // the archive is ours
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(name, data, 0o600)
			}
		}
		if err != nil {
			return err
		}
	}
}

// plainFormat is that of records without blocks and shortest holds, and blockFormat that of records with them.
const plainFormat, blockFormat = 3, 4

// stored says what a shard's bucket has.
type stored struct {
	// first is the number of its first commit.
	first uint64
	// pages are the formats of its pages, commits counts its commits of each format.
	pages   map[string]uint32
	commits map[uint32]int
	// shrunk counts the resources of which it has little more than the token.
	shrunk int
}

func readBucket(s *stand.Stand, shard uint32) stored {
	s.Helper()
	found := stored{pages: map[string]uint32{}, commits: map[uint32]int{}}
	stand.Value(s.Deployment.Bucket(shard).Replay(s.Context(), 0, func(_ uint64, r *journal.Record) error {
		if commit := r.GetCommit(); commit != nil {
			if found.commits[r.GetFormat()]++; found.first == 0 {
				found.first = commit.GetNumber()
			}
		}
		if page := r.GetPage(); page != nil {
			found.pages[page.Name()] = r.GetFormat()
			for _, e := range page.GetEntries() {
				if e.GetOwnerDigest() != 0 {
					found.shrunk++
				}
			}
		}
		return nil
	}))(s)
	return found
}

// startOnFormat starts a node on what one of an earlier format has stored.
func startOnFormat(t *testing.T, format uint32) *stand.Stand {
	t.Helper()
	s := stand.Start(t, stand.Config{
		Shards: 2, DataDir: filepath.Join(unpack(t, fmt.Sprintf("testdata/format%d.tar.gz", format)), "data"),
		Tuning: actors.Tuning{CompactCommits: 50, History: 1},
	})
	for shard := range uint32(2) {
		if b := readBucket(s, shard); b.first < 2 || b.commits[format] < 10 || b.shrunk < 5 || b.pages["p"] != format {
			t.Fatalf("shard %d has %+v: this is no data of format %d to test with", shard, b, format)
		}
	}
	return s
}

// commitUntilCompacted makes more commits than a node of startOnFormat keeps, so that it compacts its shards.
func (c *client) commitUntilCompacted() {
	c.Helper()
	for range 150 {
		for _, resource := range []string{"passing.1", "passing.2", "passing.3"} {
			c.want(messages.Status_GRANTED, 0, "holdfast.acquire."+resource, `{"owner":"a","ttl_ms":60000}`)
			c.want(messages.Status_RELEASED, 0, "holdfast.release."+resource, `{"owner":"a"}`)
		}
	}
}

// What a node of format 1 has stored is read and carried on, and resources of it are shared.
func TestDataOfFormat1(t *testing.T) {
	t.Parallel()
	s := startOnFormat(t, 1)
	c := &client{t, s.Connect()}
	for resource, held := range map[string]struct {
		token uint64
		owner string
	}{
		"held.0": {1, "owner.0"}, "held.1": {2, "owner.1"}, "held.2": {3, "owner.2"}, "held.3": {4, "owner.3"},
		"late": {2, "late"},
	} {
		r := c.want(messages.Status_HELD, held.token, "holdfast.get."+resource, `{}`)
		if l := r.GetLease(); l.GetOwner() != held.owner || l.GetFence() != messages.Token(held.token).String() ||
			!strings.HasSuffix(held.owner, l.GetMetadata()["of"]) || l.GetLimit() != 0 || len(l.GetSlots()) != 0 {
			t.Errorf("%s is held by %v", resource, l)
		}
	}
	if all := c.all("", 2); len(all) != 5 {
		t.Errorf("%v are held", all)
	}
	c.want(messages.Status_GRANTED, 4, "holdfast.acquire.held.3",
		`{"owner":"owner.3","ttl_ms":60000,"request_id":"request.3"}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.release.free.late", `{"owner":"passer"}`)
	c.want(messages.Status_STALE_TOKEN, 3, "holdfast.release.held.2", `{"owner":"owner.2","token":2}`)

	// Tokens go on: behind those that are remembered, behind what ephemeral leases may have had, and behind the
	// low-water mark.
	const shared = `{"owner":%q,"ttl_ms":600000,"limit":5}`
	for resource, token := range map[string]uint64{
		"free.1": 2, "free.2": 3, "free.3": 4, "free.late": 3, "stone.1": 3, "stone.30": 3, "recent.1": 2, "expired": 2,
		"ephemeral.held": 1001, "ephemeral.free": 1001, "ephemeral.late": 1002, "forgotten.1": 2, "unknown": 2,
	} {
		for i, owner := range []string{"one", "two", "three"} {
			r := c.want(messages.Status_GRANTED, token+uint64(i), "holdfast.acquire."+resource,
				fmt.Sprintf(shared, owner))
			if fence := messages.Token(token).String(); r.GetLease().GetFence() != fence {
				t.Errorf("%s: the fence of %s is %s, want %s", resource, owner, r.GetLease().GetFence(), fence)
			}
		}
		c.want(messages.Status_RELEASED, 0, "holdfast.release."+resource, `{"owner":"two"}`)
	}

	// What was held before may end and be shared.
	c.want(messages.Status_RELEASED, 0, "holdfast.release.held.1", `{"owner":"owner.1","token":2}`)
	c.want(messages.Status_GRANTED, 3, "holdfast.acquire.held.1", fmt.Sprintf(shared, "one"))
	c.want(messages.Status_EXTENDED, 4, "holdfast.extend.held.2",
		`{"owner":"owner.2","token":3,"ttl_ms":600000,"limit":5}`)
	c.want(messages.Status_GRANTED, 5, "holdfast.acquire.held.2", fmt.Sprintf(shared, "one"))
	c.commitUntilCompacted()
	s.Restart()
	c = &client{t, s.Connect()}
	for shard := range uint32(2) {
		if b := readBucket(s, shard); b.pages["p"] != plainFormat || b.commits[1] > 0 || b.shrunk == 0 {
			t.Errorf("shard %d was compacted to %+v", shard, b)
		}
	}
	for resource, holders := range map[string]string{
		"free.2": "one three", "unknown": "one three", "ephemeral.held": "one three", "held.0": "owner.0",
		"held.1": "one", "held.2": "owner.2 one", "held.3": "owner.3",
	} {
		var owners []string
		for _, l := range c.ask("holdfast.get."+resource, `{}`).GetHolders() {
			owners = append(owners, l.GetOwner())
		}
		if got := strings.Join(owners, " "); got != holders {
			t.Errorf("%s is held by %s, want %s", resource, got, holders)
		}
	}
	r := c.want(messages.Status_GRANTED, 6, "holdfast.acquire.free.2", fmt.Sprintf(shared, "four"))
	if l := r.GetLease(); l.GetFence() != messages.Token(3).String() || l.GetSlots()[0] != 1 {
		t.Errorf("the fourth lease is %v, want the fence of the first and the slot of the second", l)
	}
}

// What a node of format 2 has stored is read and carried on, and its leases get what leases have since.
func TestDataOfFormat2(t *testing.T) {
	t.Parallel()
	s := startOnFormat(t, 2)
	c := &client{t, s.Connect()}
	wantHolders := func(resource string, want ...string) {
		t.Helper()
		holders := []string{}
		for _, l := range c.ask("holdfast.get."+resource, `{}`).GetHolders() {
			holders = append(holders, fmt.Sprintf("%s %d %v %s", l.GetOwner(), l.GetToken(), l.GetSlots(),
				l.GetMetadata()["of"]))
		}
		if !slices.Equal(holders, want) {
			t.Errorf("%s is held by %q, want %q", resource, holders, want)
		}
	}
	// Those of the page begin with token 1, and those of the commits behind it above its low-water mark, which is 1.
	firsts := map[string]uint64{"early": 1, "late": 2}
	holder := func(owner string, token uint64, slots, of string) string {
		return fmt.Sprintf("%s %d [%s] %s", owner, token, slots, of)
	}
	for when, first := range firsts {
		wantHolders("mutex."+when, holder("mutex", first+1, "", "mutex"))
		wantHolders("readers."+when, holder("ann", first+1, "0", "ann"), holder("bob", first+2, "1", ""))
		wantHolders("semaphore."+when, holder("ann", first+1, "0 1", ""), holder("cat", first+3, "3", ""))
		c.want(messages.Status_GRANTED, first+1, "holdfast.acquire.mutex."+when,
			`{"owner":"mutex","ttl_ms":60000,"request_id":"mutex"}`)

		c.want(messages.Status_UPDATED, first+1, "holdfast.set.mutex."+when,
			`{"owner":"mutex","metadata":{"of":"set"}}`)
		c.want(messages.Status_UPDATED, first+2, "holdfast.set.readers."+when,
			`{"owner":"bob","metadata":{"of":"set"}}`)
		c.want(messages.Status_RELEASED, 0, "holdfast.break.semaphore."+when, fmt.Sprintf(`{"token":%d}`, first+1))
		c.want(messages.Status_RELEASED, 0, "holdfast.release.semaphore."+when, `{"owner":"cat"}`)
		c.want(messages.Status_GRANTED, first+4, "holdfast.acquire.semaphore."+when,
			fmt.Sprintf(`{"owner":"dan","ttl_ms":3600000,"session":%q,"confirm":true}`, session))
	}
	for resource, token := range map[string]uint64{"stone.1": 3, "recent.1": 2, "expired": 2, "ephemeral": 1001,
		"free.late": 3, "forgotten.1": 2} {
		c.want(messages.Status_GRANTED, token, "holdfast.acquire."+resource,
			fmt.Sprintf(`{"owner":"new","ttl_ms":3600000,"session":%q}`, session))
	}
	c.commitUntilCompacted()
	s.Restart()
	c = &client{t, s.Connect()}
	for shard := range uint32(2) {
		if b := readBucket(s, shard); b.pages["p"] != plainFormat || b.commits[2] > 0 {
			t.Errorf("shard %d was compacted to %+v", shard, b)
		}
	}
	for when, first := range firsts {
		wantHolders("mutex."+when, holder("mutex", first+1, "", "set"))
		wantHolders("readers."+when, holder("ann", first+1, "0", "ann"), holder("bob", first+2, "1", "set"))
		wantHolders("semaphore."+when, holder("dan", first+4, "", ""))
	}
	if r := c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":3600000}`); r.GetHeld() != 8 {
		t.Errorf("the session has %d leases, want 8", r.GetHeld())
	}
	c.want(messages.Status_RELEASED, 0, "holdfast.break.semaphore.late", `{"token":6}`)
	c.want(messages.Status_HELD_BACK, 6, "holdfast.get.semaphore.late", `{}`)

	// A block and a rest have the newest format, and only the shard that has them.
	c.want(messages.Status_GRANTED, 2, "holdfast.acquire.block", `{"owner":"new","ttl_ms":3600000,"tokens":5}`)
	c.commitUntilCompacted()
	s.Restart()
	formats := []uint32{readBucket(s, 0).pages["p"], readBucket(s, 1).pages["p"]}
	if slices.Sort(formats); !slices.Equal(formats, []uint32{plainFormat, blockFormat}) {
		t.Errorf("the shards have pages of the formats %v", formats)
	}
}

// A record has the newest format, which nodes of an earlier version refuse, only if it has a block or a shortest hold.
// When nothing of that is left, they may go on.
func TestFormatOfBlocksAndRests(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{Shards: 1, Tuning: actors.Tuning{CompactCommits: 50, History: 1}})
	c := &client{t, s.Connect()}
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000,"tokens":1}`)
	c.want(messages.Status_EXTENDED, 1, extend, `{"owner":"a","ttl_ms":60000,"tokens":1}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	if b := readBucket(s, 0); b.commits[blockFormat] > 0 || b.commits[plainFormat] < 4 {
		t.Errorf("without a block: %+v", b)
	}
	c.want(messages.Status_GRANTED, 2, acquire, `{"owner":"a","ttl_ms":60000}`)
	c.want(messages.Status_EXTENDED, 2, extend, `{"owner":"a","ttl_ms":60000,"tokens":2}`)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.resting", `{"owner":"a","ttl_ms":60000,"min_hold_ms":3600000}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.release.resting", `{"owner":"a"}`)
	if b := readBucket(s, 0); b.commits[blockFormat] != 3 {
		t.Errorf("with a block and a rest: %+v", b)
	}
	c.commitUntilCompacted()
	if b := readBucket(s, 0); b.pages["p"] != blockFormat {
		t.Errorf("compacted to %+v", b)
	}
	s.Restart()
	c = &client{t, s.Connect()}
	if l := c.want(messages.Status_HELD, 2, get, ``).GetLease(); l.GetTokens() != 2 {
		t.Errorf("held by %v", l)
	}
	c.want(messages.Status_HELD_BACK, 1, "holdfast.get.resting", ``)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.confirm.resting", `{"token":1}`)
	c.want(messages.Status_GRANTED, 4, acquire, `{"owner":"b","ttl_ms":60000}`)
	c.want(messages.Status_GRANTED, 2, "holdfast.acquire.resting", `{"owner":"b","ttl_ms":60000}`)
	c.commitUntilCompacted()
	if b := readBucket(s, 0); b.pages["p"] != plainFormat || b.commits[blockFormat] > 0 {
		t.Errorf("when the block and the rest are over: %+v", b)
	}
}
