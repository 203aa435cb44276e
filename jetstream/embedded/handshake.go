package embedded

import (
	"bytes"
	"net"
	"sync/atomic"
)

// handshake is a connection within the process on which the server can refuse the login. A pipe has no
// buffer: the client writes CONNECT and PING before it reads, the server answers a wrong CONNECT before it reads
// on, and both would wait for each other until their timeouts.
type handshake struct {
	net.Conn
	// last is closed when the latest of the first writes has been read; nil before them.
	last chan struct{}
	// begun: the client has written. answered: it has read since, and writes wait for the server again.
	begun, answered atomic.Bool
}

// Read implements [net.Conn].
func (h *handshake) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if h.begun.Load() {
		h.answered.Store(true)
	}
	return n, err
}

// Write does not wait for the reader before the first answer. The client writes no more than CONNECT and PING
// until then, and a failure shows when it reads.
func (h *handshake) Write(p []byte) (int, error) {
	if h.answered.Load() {
		return h.Conn.Write(p)
	}
	h.begun.Store(true)
	message, before, done := bytes.Clone(p), h.last, make(chan struct{})
	h.last = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		_, _ = h.Conn.Write(message)
	}()
	return len(p), nil
}
