package client_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
)

// firstError returns the error that a listing yields, if it does.
func firstError[T any](leases iter.Seq2[T, error]) error {
	for _, err := range leases {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestGet(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	c := newClient(t, url)
	ctx := testContext(t)
	s := mustGet(t, c, t.Name())
	if s.Held || s.Token != 0 || s.Resource != t.Name() || !s.AcquiredAt.IsZero() {
		t.Errorf("never held: got %+v", s)
	}
	l := mustAcquire(t, c, t.Name(), holdfast.Ephemeral())
	for name, get := range map[string]func() (*holdfast.State, error){
		"Get":      func() (*holdfast.State, error) { return c.Get(ctx, t.Name()) },
		"GetStale": func() (*holdfast.State, error) { return c.GetStale(ctx, t.Name()) },
	} {
		s, err := get()
		if err != nil || !s.Held || s.Owner != l.Owner() || s.Token != l.Token() || !s.Ephemeral ||
			s.Resource != t.Name() {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
	}
	mustRelease(t, l)
	if s := mustGet(t, c, t.Name()); s.Held || s.Token != l.Token() || s.Owner != "" {
		t.Errorf("released: got %+v", s)
	}
}

func TestBreak(t *testing.T) {
	c := newClient(t, url)
	ctx := testContext(t)
	if err := c.Break(ctx, t.Name(), 1, "test"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("free: got %v, want ErrNotHeld", err)
	}
	l := mustAcquire(t, c, t.Name(), holdfast.TTL(time.Hour))
	err := c.Break(ctx, t.Name(), l.Token()+1, "test")
	var e *holdfast.Error
	if !errors.Is(err, holdfast.ErrStaleToken) || !errors.As(err, &e) || e.Holder == nil ||
		e.Holder.Token != l.Token() {
		t.Errorf("another token: got %v, want ErrStaleToken with the holder", err)
	}
	waiting := acquiring(ctx, c, t.Name())
	untilWaiting(t, c, t.Name(), 1)
	if err := c.Break(ctx, t.Name(), l.Token(), "test"); err != nil {
		t.Error(err)
	}
	if next := mustGrant(t, waiting); next.Token() != l.Token()+1 {
		t.Errorf("got %v behind %v", next, l)
	}
}

func TestList(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	c := newClient(t, url)
	ctx := testContext(t)
	const leases = 2300 // several pages
	want := make([]string, leases)
	done := make(chan error, 64)
	for w := range cap(done) {
		go func() {
			var err error
			for i := w; i < leases && err == nil; i += cap(done) {
				want[i] = fmt.Sprintf("%s.%05d", t.Name(), i)
				_, err = c.Acquire(ctx, want[i], holdfast.Ephemeral(), holdfast.TTL(time.Hour))
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}

	t.Run("All", func(t *testing.T) {
		var got []string
		for l, err := range c.List(ctx, "TestList.*") {
			if err != nil {
				t.Fatal(err)
			}
			if l.Token != 1 || l.Owner == "" || !l.Ephemeral {
				t.Errorf("got %+v", l)
			}
			got = append(got, l.Resource)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got %d, want %d", len(got), len(want))
		}
	})

	t.Run("Some", func(t *testing.T) {
		n := 0
		for _, err := range c.List(ctx, "TestList.*") {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 7 {
				break
			}
		}
		if n != 7 {
			t.Errorf("got %d", n)
		}
	})

	t.Run("None", func(t *testing.T) {
		for l, err := range c.List(ctx, "nothing.>") {
			t.Errorf("got %v, %v", l, err)
		}
	})

	t.Run("Everything", func(t *testing.T) {
		n := 0
		for _, err := range c.List(ctx, "") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n < leases {
			t.Errorf("got %d, want at least %d", n, leases)
		}
	})

	t.Run("Unavailable", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL(), holdfast.Timeout(30*time.Millisecond))
		p.Blackhole()
		if err := firstError(c.List(ctx, "")); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
	})
}

func TestInfo(t *testing.T) {
	i, err := newClient(t, url).Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	l := i.Limits
	if i.Version != "0.0.0" || i.Shards == 0 || len(i.Nodes) != 1 || len(i.Nodes[0].Shards) != int(i.Shards) ||
		i.Nodes[0].Name != "stand" {
		t.Errorf("got %+v", i)
	}
	if l.MinTTL != 100*time.Millisecond || l.MaxTTL != 24*time.Hour || l.MaxWait != time.Hour ||
		l.MaxResourceBytes != 512 ||
		l.MaxOwnerBytes != 256 || l.MaxMetadataEntries != 16 || l.MaxMetadataBytes != 1024 ||
		l.MaxToken != 900_000_000_000_000 {
		t.Errorf("got %+v", l)
	}
}
