package watch

import (
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestSequence(t *testing.T) {
	s := sequence{number: 6}
	for _, step := range []struct {
		number, epoch uint64
		opened, fresh bool
		err           error
	}{
		{number: 6, epoch: 2},                                         // before the first
		{number: 8, epoch: 2, err: errAgain},                          // one is missing
		{number: 7, epoch: 2, fresh: true},                            // any epoch is the first
		{number: 7, epoch: 2},                                         // again
		{number: 8, epoch: 3, err: journal.ErrCorrupt},                // not opened
		{number: 8, epoch: 3, opened: true, fresh: true},              // by the next owner
		{number: 9, epoch: 2, err: journal.ErrCorrupt},                // by a deposed one
		{number: 9, epoch: 3, fresh: true},                            // by the present one
		{number: 11, epoch: 4, opened: true, err: errAgain},           // one is missing
		{number: 10, epoch: 5, opened: true, err: journal.ErrCorrupt}, // an epoch is missing
	} {
		fresh, err := s.next(&journal.Commit{Number: step.number, Epoch: step.epoch, Opened: step.opened})
		if fresh != step.fresh || !errors.Is(err, step.err) {
			t.Errorf("commit %d of epoch %d: %v, %v", step.number, step.epoch, fresh, err)
		}
	}
}
