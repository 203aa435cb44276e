package gocronlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/holdfast-io/holdfast/clients/adapters/gocronlock"
	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// schedule is an [adaptertest.Host]: a scheduler that tries to run a job ten times a second, until it has once.
func schedule(ctx context.Context, c *holdfast.Client, _ time.Duration, work func(context.Context)) error {
	locker := gocronlock.NewLocker(c, "test/", 0)
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return err
	}
	done := make(chan struct{})
	_, err = s.NewJob(gocron.DurationJob(100*time.Millisecond), gocron.NewTask(func() {
		work(locker.Context("job"))
		close(done)
	}), gocron.WithName("job"), gocron.WithSingletonMode(gocron.LimitModeReschedule))
	if err != nil {
		return err
	}
	s.Start()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return s.Shutdown()
}

func TestFaults(t *testing.T) { adaptertest.Faults(t) }

// A scheduler whose ticker is behind asks for a job that has ended at once. It does not run a second time, gocron#841.
func TestShortestHold(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	runs := make(chan string, 10)
	var fail [2]chan error
	var jobs [2]gocron.Job
	for i, host := range []string{"early", "late"} {
		fail[i] = make(chan error, 10)
		locker := gocronlock.NewLocker(adaptertest.NewClient(t, node), "cron/", time.Minute)
		s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Shutdown() })
		jobs[i], err = s.NewJob(gocron.DurationJob(time.Hour), gocron.NewTask(func() { runs <- host }),
			gocron.WithName("report"), gocron.WithEventListeners(
				gocron.AfterJobRuns(func(uuid.UUID, string) { fail[i] <- nil }),
				gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { fail[i] <- err })))
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
	}
	for i, want := range []error{nil, holdfast.ErrHeld} {
		if err := jobs[i].RunNow(); err != nil {
			t.Fatal(err)
		}
		if err := <-fail[i]; !errors.Is(err, want) {
			t.Errorf("scheduler %d: got %v, want %v", i, err, want)
		}
	}
	if len(runs) != 1 || <-runs != "early" {
		t.Errorf("%d more runs", len(runs))
	}
}

// What runs without the lock has no context to run with.
func TestNoRun(t *testing.T) {
	t.Parallel()
	locker := gocronlock.NewLocker(adaptertest.NewClient(t, adaptertest.Node(t)), "cron/", 0)
	if cause := context.Cause(locker.Context("report")); !errors.Is(cause, holdfast.ErrNotHeld) {
		t.Errorf("before: %v", cause)
	}
	lock, err := locker.Lock(t.Context(), "report")
	if err != nil {
		t.Fatal(err)
	}
	ctx := locker.Context("report")
	if claim, ok := holdfast.ClaimFromContext(ctx); ctx.Err() != nil || !ok || claim.Resource != "cron/report" {
		t.Errorf("meanwhile: %v, %v, %v", ctx.Err(), claim, ok)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, holdfast.ErrReleased) {
		t.Errorf("afterwards: %v", cause)
	}
}

// The context of a run ends with that of its job.
func TestRemovedJob(t *testing.T) {
	t.Parallel()
	locker := gocronlock.NewLocker(adaptertest.NewClient(t, adaptertest.Node(t)), "cron/", 0)
	job, remove := context.WithCancel(t.Context())
	lock, err := locker.Lock(job, "report")
	if err != nil {
		t.Fatal(err)
	}
	remove()
	<-locker.Context("report").Done()
	if err := lock.Unlock(job); err != nil {
		t.Error(err)
	}
}
