package reshard_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/cmd/holdfast/reshard"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
)

// killAt has the coordinator die behind a step.
func killAt(at reshard.Step) func(reshard.Step) error {
	return func(s reshard.Step) error {
		if s == at {
			return reshard.ErrKilled
		}
		return nil
	}
}

// Wherever the coordinator dies, the nodes go on with the former shards, or with the new ones if the register says so.
// The next change removes what is left over.
func TestCoordinatorDies(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3, 2)
	nc := d.connect()
	is := d.settled(nc)
	events := d.watch()
	l := d.load(2, 20, is)
	begun := is.Generation
	for _, step := range reshard.Steps() {
		if _, err := d.reshard(3, killAt(step)); !errors.Is(err, reshard.ErrKilled) {
			t.Fatalf("killed behind %q: %v", step, err)
		}
		begun += 2
		if step == reshard.Done {
			is = messages.Shards{Generation: begun - 1, Count: 3}
		}
		next := messages.Shards{Generation: begun, Count: 2 - begun/2%2}
		r := d.mustReshard(next.Count) // which waits for the nodes
		if r.Was != is || r.Is != next || d.settled(nc) != next {
			t.Errorf("killed behind %q: %v, was %v", step, r, is)
		}
		is = next
		for stream := range stream(d) {
			if step != reshard.Done && strings.HasPrefix(stream, fmt.Sprintf("KV_HOLDFAST_%d_", begun-1)) {
				t.Errorf("killed behind %q: there still is %s", step, stream)
			}
		}
	}
	if n := l.end(); n > 0 {
		t.Errorf("%d calls were refused", n)
	}
	events.check(l)
}

// A node that stops or starts during a change follows it, or finds what holds.
func TestNodeComesAndGoes(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3, 2)
	nc := d.connect()
	is := d.settled(nc)
	l := d.load(4, 20, is)
	for i, step := range reshard.Steps() {
		next := uint32(1 + (i+2)%3)
		_, err := d.reshard(next, func(s reshard.Step) error {
			if s == step {
				d.stop("n3")
				d.start("n3", 2)
			}
			return nil
		})
		if err != nil && !errors.Is(err, reshard.ErrGivenUp) {
			t.Errorf("a node is restarted behind %q: %v", step, err)
		}
		if err != nil {
			t.Logf("a node is restarted behind %q: %v", step, err)
			d.mustReshard(next)
		}
		if is := d.settled(nc); is.Count != next {
			t.Errorf("a node was restarted behind %q: it is %v, want %d", step, is, next)
		}
	}
	l.end()
}

// A node that dies takes nothing with it, and one that comes back later finds the shards in use.
func TestNodeDies(t *testing.T) {
	t.Parallel()
	for _, step := range []reshard.Step{reshard.Ready, reshard.Close, reshard.Fill, reshard.Done} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			d := deploy(t, 3, 4)
			nc := d.connect()
			d.settled(nc)
			const names = 20
			for i := range names {
				d.want(nc, messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i), `{"owner":"a","ttl_ms":600000}`)
			}
			_, err := d.reshard(3, func(s reshard.Step) error {
				if s == step {
					d.crash("n2")
				}
				return nil
			})
			t.Logf("a node dies behind %q: %v", step, err)
			is := d.settled(nc)
			if (err == nil) != (is.Count == 3) {
				t.Errorf("%v, and it is %v", err, is)
			}
			d.start("n2", 4)
			d.mustReshard(5)
			for i := range names {
				key := fmt.Sprint("r", i)
				d.want(nc, messages.Status_HELD, 1, "holdfast.acquire."+key, `{"owner":"b","ttl_ms":600000}`)
				d.want(nc, messages.Status_RELEASED, 0, "holdfast.release."+key, `{"owner":"a","token":1}`)
				d.want(nc, messages.Status_GRANTED, 2, "holdfast.acquire."+key, `{"owner":"b","ttl_ms":600000}`)
			}
		})
	}
}

// Only one change at a time is made, and only one that changes something.
func TestRefusedReshard(t *testing.T) {
	t.Parallel()
	d := deploy(t, 2, 2)
	d.settled(d.connect())
	for shards, why := range map[uint32]string{2: "2 shards already", 0: "1 to 1024", 1025: "1 to 1024"} {
		if _, err := d.reshard(shards, nil); !errors.Is(err, reshard.ErrRefused) || !strings.Contains(err.Error(), why) {
			t.Errorf("%d shards: %v", shards, err)
		}
	}
	var second error
	r, err := d.reshard(3, func(s reshard.Step) error {
		if s == reshard.Copy {
			_, second = d.reshard(4, nil)
		}
		return nil
	})
	if err != nil || r.Is.Count != 3 {
		t.Errorf("the first: %v, %v", r, err)
	}
	if !errors.Is(second, reshard.ErrRefused) || !strings.Contains(second.Error(), "a change to 3 shards is under way") {
		t.Errorf("the second: %v", second)
	}
}

// A backup during a change has everything, of the shards that were in use when it began.
func TestBackupDuringAReshard(t *testing.T) {
	t.Parallel()
	d := deploy(t, 2, 2)
	nc := d.connect()
	d.settled(nc)
	const names = 30
	for i := range names {
		d.want(nc, messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i), `{"owner":"a","ttl_ms":600000}`)
	}
	copied := func(want uint32) {
		o, err := jetstream.OpenDeployment(t.Context(), d.connect(),
			jetstream.DeploymentConfig{Prefix: messages.DefaultPrefix, Existing: true, Log: d.log("backup")})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		c, err := backup.Copy(t.Context(), &file, &archive.Header{Prefix: "holdfast", Shards: o.Shards()},
			func(shard uint32) backup.Source { return o.Bucket(shard) }, func(float64) {})
		if err != nil || c.Leases != names || c.Header.GetShards() != want {
			t.Errorf("a backup has %v, error %v", c, err)
		}
	}
	for _, step := range reshard.Steps() {
		if _, err := d.reshard(3, func(s reshard.Step) error {
			switch {
			case s != step:
			case s == reshard.Done:
				copied(3)
			default:
				copied(2)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		d.mustReshard(2)
	}
}
