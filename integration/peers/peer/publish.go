package peer

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// addPublish adds the synced publishes of one client.
func addPublish(ctx context.Context, d *Deployment, nc *nats.Conn, nodes int) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	err = d.processes[0].WaitReady(ctx, func(ctx context.Context) error {
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "BARE", Subjects: []string{"bare"},
			Replicas: nodes})
		return err
	})
	if err != nil {
		return err
	}
	d.add(namePublish, []Workload{Hot}, func(context.Context, int) (Session, error) {
		return &publishSession{js: js, payload: make([]byte, 200)}, nil
	}).lone = true
	return nil
}

// publishSession publishes one message for a hand-over, about as long as an append of one.
type publishSession struct {
	js      jetstream.JetStream
	payload []byte
}

// Lock implements [Session].
func (s *publishSession) Lock(ctx context.Context, _ string, _ bool) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.js.Publish(ctx, "bare", s.payload)
	return 0, err
}

// Extend implements [Session].
func (s *publishSession) Extend(context.Context) error { return errNotHeld }

// Unlock implements [Session].
func (s *publishSession) Unlock(context.Context) error { return nil }
