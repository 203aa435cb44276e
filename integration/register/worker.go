package register

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// answerTimeout bounds a request to the register, which is always there.
const answerTimeout = 30 * time.Second

// pausePercent is how many of a hundred holders are paused.
const pausePercent = 30

// Worker increments counters, one lock after another.
type Worker struct {
	Connect func() (*nats.Conn, error)
	// URL is where the register is, Resources are the locks of its counters.
	URL       string
	Resources []string
	// Name is in whose name the worker locks.
	Name string
	TTL  time.Duration
	// Cached: its client retains the leases that it has, and renews them. Otherwise they run out.
	Cached bool
	Seed   uint64
}

// Counts is what became of a worker's efforts.
type Counts struct {
	// Locks were granted, Cached of them as uses of a lease that the client retains, and calls for one Refused or given up.
	Locks, Cached, Refused int64
	// Pauses lay between a read and its write.
	Pauses int64
	// Acknowledged increments.
	Acknowledged int64
}

func (c *Counts) add(o Counts) {
	c.Locks += o.Locks
	c.Cached += o.Cached
	c.Refused += o.Refused
	c.Pauses += o.Pauses
	c.Acknowledged += o.Acknowledged
}

// shift is a worker at work.
type shift struct {
	Worker
	Counts
	dice *rand.Rand
}

// Work works until ctx ends. The error is what keeps it from going on.
func (w Worker) Work(ctx context.Context) (counts Counts, err error) {
	client, leave, err := newClient(w.Connect)
	if err != nil {
		return Counts{}, err
	}
	defer leave()
	s := shift{Worker: w, dice: rand.New(rand.NewPCG(w.Seed, 0))}
	terms := []holdfast.AcquireOption{holdfast.TTL(w.TTL), holdfast.Owner(w.Name), holdfast.NoRenewal()}
	if w.Cached {
		terms[2] = holdfast.Cached(2 * w.TTL)
	}
	defer func() { counts.Cached = int64(client.CacheStats().Uses) }()
	for ctx.Err() == nil {
		lock, err := client.Acquire(ctx, w.Resources[s.dice.IntN(len(w.Resources))], terms...)
		if err != nil {
			s.Refused++
			if errors.Is(err, holdfast.ErrInvalid) || errors.Is(err, holdfast.ErrExhausted) {
				return s.Counts, fmt.Errorf("%s will never get a lock: %w", w.Name, err)
			}
			pause(ctx, w.TTL/10) // not available, not known, too many: another time
			continue
		}
		s.Locks++
		if err := s.increment(lock); err != nil {
			return s.Counts, fmt.Errorf("%s, %v: %w", w.Name, lock, err)
		}
		s.release(ctx, lock)
	}
	return s.Counts, nil
}

// increment reads, is held up by chance, and writes, whatever has become of the lock: a process that is
// stopped does not look at its context either.
func (s *shift) increment(lock *holdfast.Lock) error {
	text, err := s.send(lock, http.MethodGet, "")
	if _, refused := errors.AsType[*fence.StaleError](err); refused {
		return nil // package net/http may have repeated the read, so it is fence.ErrUnknown
	}
	if err != nil {
		return err
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	s.linger()
	switch _, err = s.send(lock, http.MethodPut, strconv.Itoa(value+1)); {
	case errors.Is(err, fence.ErrStale):
		return nil
	case err == nil:
		s.Acknowledged++
	}
	return err
}

// linger lets time pass between a read and its write, often enough to lose the lock.
func (s *shift) linger() {
	if s.dice.IntN(100) < pausePercent {
		s.Pauses++
		pause(context.Background(), time.Duration(s.dice.Int64N(int64(2*s.TTL))))
	}
}

// release gives back what may be lost already. One in ten runs out, unless it is renewed.
func (s *shift) release(ctx context.Context, lock *holdfast.Lock) {
	if s.dice.IntN(10) == 0 && !s.Worker.Cached {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.TTL)
	defer cancel()
	_ = lock.Release(ctx) // lost or not: the register knows
}

// send sends one request with the claim of the lock. The worker waits for the answer in any case, so
// that it is known what became of each write.
func (s *shift) send(lock *holdfast.Lock, method, body string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set(headerWorker, s.Name)
	request.Header.Set(headerUse, strconv.FormatInt(s.Locks, 10))
	claim := lock.Claim()
	if err := claim.SetHeader(request.Header); err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if err := fencehttp.ResponseError(response); err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), err
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
