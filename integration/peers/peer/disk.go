package peer

import (
	"context"
	"os"
	"path/filepath"
)

// StartDisk opens a file. Its peer appends and syncs, as the limit of one client of any service that syncs on one
// node.
func StartDisk(_ context.Context, env Environment) (*Deployment, error) {
	d := &Deployment{Version: "append and fsync"}
	f, err := os.OpenFile(filepath.Join(env.Dir, "fsync"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return d, err
	}
	d.closers = append(d.closers, func() { _ = f.Close() }) // everything in it is synced
	d.add("fsync", []Workload{Pairs}, func(context.Context, int) (Session, error) {
		return &diskSession{f, make([]byte, 200)}, nil
	}).lone = true
	return d, nil
}

// diskSession appends as many bytes as a decision takes in a journal.
type diskSession struct {
	file    *os.File
	payload []byte
}

// Lock implements [Session].
func (s *diskSession) Lock(context.Context, string, bool) (uint64, error) { return 0, s.sync() }

// Extend implements [Session].
func (s *diskSession) Extend(context.Context) error { return errNotHeld }

// Unlock implements [Session].
func (s *diskSession) Unlock(context.Context) error { return s.sync() }

func (s *diskSession) sync() error {
	if _, err := s.file.Write(s.payload); err != nil {
		return err
	}
	return s.file.Sync()
}
