// Package systemd reports the state of a service to systemd, as Type=notify and WatchdogSec of its unit ask for:
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html. Without NOTIFY_SOCKET in the environment,
// which is so outside of systemd and on other systems, it does nothing.
package systemd

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Serve reports that the service is ready. From then on it reports twice in each WATCHDOG_USEC that the process runs,
// and at the end of ctx or of stop, whichever is first, that the service stops. The caller has to call stop, which
// waits for the last report. An error is logged: the service works without systemd's knowledge.
func Serve(ctx context.Context, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	timeout, err := daemon.SdWatchdogEnabled(false) // 0: no reports of life are asked for
	if err != nil {
		log.Error(
			"the watchdog of systemd gets no reports: WATCHDOG_USEC has to be a number of microseconds, and "+
				"WATCHDOG_PID a process", "error", err)
	}
	report(log, daemon.SdNotifyReady)
	var running sync.WaitGroup
	running.Go(func() { run(ctx, log, timeout/2) })
	return func() { cancel(); running.Wait() }
}

// run reports life until ctx ends. It asks no other part of the node: systemd would restart a node that waits for its
// NATS servers, its disk or its processors, which the restart does not bring back.
func run(ctx context.Context, log *slog.Logger, every time.Duration) {
	var due <-chan time.Time // never, unless the watchdog asks
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		due = ticker.C
	}
	for {
		select {
		case <-due:
			report(log, daemon.SdNotifyWatchdog)
		case <-ctx.Done():
			report(log, daemon.SdNotifyStopping)
			return
		}
	}
}

func report(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Error("systemd gets no report of the state of this service; see NOTIFY_SOCKET", "state", state, "error",
			err)
	}
}
