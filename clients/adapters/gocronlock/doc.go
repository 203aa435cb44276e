// Package gocronlock lets the schedulers of several processes run each job of gocron once, by Holdfast.
//
//	locker := gocronlock.NewLocker(client, "cron/", time.Minute)
//	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//
// A [Locker] locks each run of a job, an [Elector] runs all jobs in one process. gocron passes neither token nor loss on
// to the job: [Locker.Context] and [Elector.Context] return a context that has both.
package gocronlock
