package embedded

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// stopBound bounds the stop of an instance whose disk fails. It cannot be replaced before it has stopped.
const stopBound = time.Minute

// runner runs the NATS server in this process, one instance after the other.
type runner struct {
	cfg      Config
	instance atomic.Pointer[instance]
	// account is that of the streams which this process uses, nil before it uses any.
	account atomic.Pointer[string]
	// changing is held while an instance gets other settings or is replaced.
	changing sync.Mutex
}

// start starts an instance, which becomes the present one.
func (r *runner) start(opts *server.Options) error {
	n, err := startInstance(opts, r.cfg.Log)
	if err == nil {
		r.instance.Store(n)
	}
	return err
}

// present returns the present instance.
func (r *runner) present() *instance { return r.instance.Load() }

// InProcessConn connects to the present instance, so that connections within the process survive a
// restart of it as those over the network do.
func (r *runner) InProcessConn() (net.Conn, error) {
	return inProcess{r.present().Server}.InProcessConn()
}

// restart replaces the instance by a new one with the settings as its files have them now, at the same addresses.
func (r *runner) restart(ctx context.Context) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	n := r.present()
	opts, err := r.optionsAgain()
	if err != nil {
		return err
	}
	resign(ctx, n.Server, r.cfg.Log)
	stopped := make(chan struct{})
	go func() { n.stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(stopBound):
		return fmt.Errorf("it has not stopped within %v", stopBound)
	}
	return r.start(opts)
}
