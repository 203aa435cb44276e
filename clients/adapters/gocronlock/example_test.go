package gocronlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-io/holdfast/clients/adapters/gocronlock"
	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Each process runs this; one of them writes the report.
func ExampleNewLocker() {
	client := adaptertest.Client() // holdfast.New(nc)

	locker := gocronlock.NewLocker(client, "cron/", time.Minute)
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		log.Fatal(err)
	}
	written := make(chan string)
	report := func() {
		ctx := locker.Context("report") // it ends if the lock is lost; pass it to what writes
		claim, _ := holdfast.ClaimFromContext(ctx)
		written <- fmt.Sprintf("report.%v.csv", claim.Token)
	}
	_, err = s.NewJob(gocron.DurationJob(time.Hour), gocron.NewTask(report), gocron.WithName("report"),
		gocron.WithStartAt(gocron.WithStartImmediately()))
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	fmt.Println(<-written)
	if err := s.Shutdown(); err != nil {
		log.Fatal(err)
	}
	// Output: report.000000000000001.csv
}

// Each process runs this; the one that leads runs all jobs.
func ExampleNewElector() {
	ctx := context.Background()
	client := adaptertest.Client() // holdfast.New(nc)

	elector := gocronlock.NewElector(client, "scheduler")
	s, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		log.Fatal(err)
	}
	written := make(chan string)
	report := func(job context.Context) {
		ctx, cancel := elector.Context(job)
		defer cancel()
		claim, _ := holdfast.ClaimFromContext(ctx)
		select {
		case written <- fmt.Sprintf("report.%v.csv", claim.Token):
		case <-job.Done():
		}
	}
	if _, err = s.NewJob(gocron.DurationJob(100*time.Millisecond), gocron.NewTask(report)); err != nil {
		log.Fatal(err)
	}
	s.Start()
	fmt.Println(<-written)
	if err := s.Shutdown(); err != nil {
		log.Fatal(err)
	}
	if err := elector.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: report.000000000000001.csv
}
