package holdfasttest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/holdfasttest"
	"github.com/holdfast-io/holdfast/messages"
)

// short is the TTL of leases that are to run out.
const short = 3 * time.Second

func acquire(t *testing.T, c *holdfast.Client, name string, opts ...holdfast.AcquireOption) *holdfast.Lock {
	t.Helper()
	l, err := c.Acquire(t.Context(), name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lost waits until the holder of a lock takes it for lost, and returns why.
func lost(t *testing.T, l *holdfast.Lock) error {
	t.Helper()
	ctx := l.Context()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the lock is not lost")
	}
	err := context.Cause(ctx)
	if !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("got %v, want ErrLost", err)
	}
	return err
}

// wantDeadline checks that a lock was lost by the clock of its holder.
func wantDeadline(t *testing.T, l *holdfast.Lock) {
	t.Helper()
	if err := lost(t, l); errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("got %v, want a loss by the holder's clock", err)
	}
}

func TestFaults(t *testing.T) {
	s := holdfasttest.Start(t)

	t.Run("EndLease", func(t *testing.T) {
		l := acquire(t, s.Client(), "ended")
		s.EndLease("ended")
		if err := lost(t, l); !errors.Is(err, holdfast.ErrNotHeld) {
			t.Errorf("got %v, want ErrNotHeld", err)
		}
	})

	t.Run("DropRenewals", func(t *testing.T) {
		c := s.Client()
		l := acquire(t, c, "dropped", holdfast.TTL(short))
		s.DropRenewals("dropped")
		wantDeadline(t, l)
		next := acquire(t, c, "dropped", holdfast.TTL(short)) // waits until the lease has run out
		if err := next.Extend(t.Context(), short); err != nil {
			t.Errorf("the next lease: %v", err)
		}
		if err := next.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})

	t.Run("DropRenewalsOfASession", func(t *testing.T) {
		c := s.Client()
		requests, err := s.Connect().SubscribeSync("holdfast.shard.>")
		if err != nil {
			t.Fatal(err)
		}
		one := acquire(t, c, "one", holdfast.TTL(short))
		acquire(t, c, "other", holdfast.TTL(short)) // a single lock is in no session
		for keeps := 0; keeps < 2; keeps++ {        // in a row: the locks are no longer extended
			m, err := requests.NextMsg(time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(m.Subject, ".keep.") {
				keeps = -1
			}
		}
		s.DropRenewals("one")
		wantDeadline(t, one)
	})

	t.Run("DelayGrants", func(t *testing.T) {
		c := s.Client()
		held := acquire(t, c, "held")
		s.DelayGrants(time.Hour)
		defer s.DelayGrants(0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.Acquire(ctx, "delayed")
			ended <- err
		}()
		if err := held.Extend(t.Context(), time.Minute); err != nil {
			t.Errorf("a renewal: %v", err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Errorf("a release: %v", err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want the end of its context", err)
		}
		s.DelayGrants(0)
		acquire(t, c, "delayed")
	})

	t.Run("Batches", func(t *testing.T) { batches(t, s) })

	t.Run("Stop", func(t *testing.T) {
		c := s.Client()
		l := acquire(t, c, "stopped", holdfast.TTL(short))
		s.Stop()
		wantDeadline(t, l)
		s.Start()
		acquire(t, c, "stopped")
	})
}

// batches checks that of a batch only the calls are lost and delayed that a fault concerns.
func batches(t *testing.T, s *holdfasttest.Server) {
	t.Helper()
	const name, owner = "batched", "raw"
	must := func(request []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return request
	}
	nc := s.Connect()
	_, err := nc.Request(messages.DefaultPrefix.Operation(messages.OpAcquire, name),
		must(messages.Encode(messages.Protobuf, &messages.AcquireRequest{Owner: owner, TtlMs: 60_000})), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s.DropRenewals(name)
	s.DelayGrants(10 * time.Millisecond)
	defer s.DelayGrants(0)
	answers, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Client().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var batch []byte
	for i, call := range []struct {
		op      messages.Operation
		request []byte
	}{
		{messages.OpExtend, must(messages.Encode(messages.Protobuf, &messages.ExtendRequest{Owner: owner, Token: 1, TtlMs: 3_600_000}))},
		{messages.OpRelease, must(messages.Encode(messages.Protobuf, &messages.ReleaseRequest{Owner: owner, Token: 1}))},
		{messages.OpAcquire, must(messages.Encode(messages.Protobuf, &messages.AcquireRequest{Owner: "late", TtlMs: 60_000}))},
		{messages.OpGet, nil},
	} {
		batch = messages.AppendCall(batch, uint64(i+1), name, call.op, call.request)
	}
	shard := messages.Shard{Number: messages.ShardOf(name, info.Shards)}
	if err := nc.PublishRequest(messages.DefaultPrefix.Batch(shard), answers.Subject, batch); err != nil {
		t.Fatal(err)
	}
	got := map[uint64]messages.Status{}
	for len(got) < 3 {
		m, err := answers.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var reply messages.BatchReply
		if err := messages.DecodeReply(messages.Protobuf, m.Data, &reply); err != nil {
			t.Fatal(err)
		}
		for _, a := range reply.GetAnswers() {
			got[a.GetId()] = a.GetReply().GetStatus()
		}
	}
	// The get was answered before the grant, which stands before it in the batch.
	if got[1] != 0 || got[2] != messages.Status_RELEASED || got[3] != messages.Status_GRANTED || got[4] != messages.Status_FREE {
		t.Errorf("got %v", got)
	}
}
