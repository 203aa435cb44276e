package serve

import (
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// reload reads files again on SIGHUP, one after the other in the order in which they were added. A file that cannot be
// read is logged, and the node goes on with what it has read before.
type reload struct {
	log     *slog.Logger
	hangups chan os.Signal
	running sync.WaitGroup

	mu sync.Mutex
	// files has for each file what reads it again.
	files []func()
}

// newReload begins to wait for signals.
func newReload(log *slog.Logger) *reload {
	r := &reload{log: log, hangups: make(chan os.Signal, 1)}
	signal.Notify(r.hangups, syscall.SIGHUP)
	r.running.Go(r.follow)
	return r
}

// add registers a file: read is called at each signal, on one goroutine. what and path name the file in the log.
func (r *reload) add(what, path string, read func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, func() {
		if err := read(); err != nil {
			r.log.Error("not reloaded; what was read before stays in force", "what", what, "file", path, "error", err)
			return
		}
		r.log.Info("reloaded", "what", what, "file", path)
	})
}

// follow ends when hangups is closed.
func (r *reload) follow() {
	for range r.hangups {
		r.readAll()
	}
}

func (r *reload) readAll() {
	r.mu.Lock()
	files := slices.Clone(r.files)
	r.mu.Unlock()
	for _, read := range files {
		read()
	}
}

// stop returns when nothing is being read, and nothing will be.
func (r *reload) stop() {
	signal.Stop(r.hangups)
	close(r.hangups)
	r.running.Wait()
}
