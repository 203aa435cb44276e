package jetstream

import "context"

// turn lets an append and a change of the bucket's leader go one after the other: a leader that steps down
// drops the append that reaches it, without a word, and whoever sent it finds out by waiting.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. After an error it was not taken.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) pass() { <-t }
