package holdfast

import "slices"

// calls are callers that wait for an attempt to be answered.
type calls []call

// call waits for the answer to an attempt that is not older than the one of this id.
type call struct {
	id   uint64
	done chan error
}

func (c *calls) add(id uint64) chan error {
	done := make(chan error, 1)
	*c = append(*c, call{id, done})
	return done
}

func (c *calls) remove(done chan error) {
	*c = slices.DeleteFunc(*c, func(w call) bool { return w.done == done })
}

// answer answers the calls that wait for this attempt or an earlier one.
func (c *calls) answer(id uint64, err error) {
	*c = slices.DeleteFunc(*c, func(w call) bool {
		if w.id > id {
			return false
		}
		w.done <- err
		return true
	})
}
