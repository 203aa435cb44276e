//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// folder is where the trial's artifacts go if there are any. Who plays a trial again keeps what was found
// the first time.
func (t *trial) folder() string {
	return filepath.Join(t.keep, fmt.Sprintf("seed-%d-%s", t.seed, t.began.Format("20060102T150405")))
}

// keepAll keeps what helps to find out what went wrong. What [linear.Check] has kept stays.
func (t *trial) keepAll() error {
	if err := os.MkdirAll(t.folder(), 0o755); err != nil {
		return err
	}
	errs := []error{t.write("trial.txt", t.story)}
	for _, node := range t.cluster.Nodes() {
		errs = append(errs, t.write(node+".log", func(w io.Writer) error {
			_, err := io.WriteString(w, t.cluster.Log(node))
			return err
		}))
	}
	if t.counts != nil {
		errs = append(errs, t.write("register.txt", t.counts.write))
	}
	if t.report.Kept == "" && t.load != nil {
		errs = append(errs, t.write("history.jsonl", t.load.Write))
	}
	if t.report.Kept == "" && t.journal != nil {
		errs = append(errs, t.write("journal.txt", t.journal.Write))
	}
	return errors.Join(errs...)
}

// story says what was to happen and what has, with the times of the history.
func (t *trial) story(w io.Writer) error {
	_, err := fmt.Fprintf(w, "again: %s\n\nto happen after %d operations:\n%s\n\nhappened:\n", t.again(), warm, t.steps)
	for _, p := range t.proofs {
		if t.load == nil || err != nil {
			break
		}
		_, err = fmt.Fprintf(w, "at %v: %s\n", p.Begun.Sub(t.load.Began()), p)
	}
	if unproved := errors.Join(t.unproved, t.void); unproved != nil && err == nil {
		_, err = fmt.Fprintf(w, "\nnot proved: %v\n", unproved)
	}
	return err
}

// again is how to play the same trial. The same is drawn; how the machine interleaves it is another matter.
func (t *trial) again() string {
	return fmt.Sprintf("make faults FAULTS=1s SEED=%d%s", t.seed, drawn())
}

func (t *trial) write(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(t.folder(), name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
