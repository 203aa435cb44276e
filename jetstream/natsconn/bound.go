package natsconn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"

	"github.com/nats-io/nats.go"
)

const (
	// maxHeaderLines and maxHeaderBytes bound the headers of one message that reaches the client library, which decodes
	// them in the loop that reads for all subscriptions, and takes 0.1 s for 1 MB of short lines. The latter fits what
	// NATS says of a sender whose JWT has many permissions.
	maxHeaderLines, maxHeaderBytes = 32, 72 << 10
	// tooLarge takes the place of headers beyond the bounds.
	tooLarge = "NATS/1.0 " + StatusTooLarge + "\r\n\r\n"
	// StatusTooLarge is the status of a message whose headers were beyond the bounds.
	StatusTooLarge = "431"
)

// bounded is a connection whose reader gets no message with large headers. Of an encrypted connection it sees nothing,
// and changes nothing.
type bounded struct {
	net.Conn
	in *bufio.Reader
	// line is to be read next, and then rest bytes as they come. buffer is the memory of lines.
	line, buffer []byte
	rest         int
}

// Bounded returns a connection that bounds the headers of what the server sends: see [StatusTooLarge].
func Bounded(c net.Conn) net.Conn {
	return &bounded{Conn: c, in: bufio.NewReaderSize(c, maxHeaderBytes)}
}

// Read reads as much as there is, so that many small messages take one call.
func (b *bounded) Read(p []byte) (n int, err error) {
	for err == nil && n < len(p) && (n == 0 || len(b.line) > 0 || b.in.Buffered() > 0) {
		var some int
		some, err = b.some(p[n:])
		n += some
	}
	if n > 0 {
		return n, nil // an error comes again
	}
	return 0, err
}

func (b *bounded) some(p []byte) (n int, err error) {
	switch {
	case len(b.line) > 0:
		n = copy(p, b.line)
		b.line = b.line[n:]
	case b.rest > 0:
		n, err = b.in.Read(p[:min(len(p), b.rest)])
		b.rest -= n
	default:
		err = b.begin()
	}
	return n, err
}

// begin reads the next line of the protocol.
func (b *bounded) begin() error {
	first, err := b.in.Peek(1)
	if err != nil {
		return err
	}
	if first[0] < ' ' || first[0] > '~' { // TLS, or frames of WebSocket
		b.rest = math.MaxInt
		return nil
	}
	line, err := b.in.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	b.buffer = append(b.buffer[:0], line...)
	b.line = b.buffer
	switch {
	case bytes.HasPrefix(line, []byte("MSG ")):
		_, b.rest = cutNumber(line)
		b.rest += len("\r\n")
	case bytes.HasPrefix(line, []byte("HMSG ")):
		return b.headers()
	}
	return nil
}

// headers looks at the headers of the message that begins with the line.
func (b *bounded) headers() error {
	line, total := cutNumber(b.line)
	line, size := cutNumber(line)
	b.rest = total + len("\r\n")
	if size <= maxHeaderBytes {
		text, err := b.in.Peek(size)
		if err != nil || bytes.Count(text, []byte("\n")) <= maxHeaderLines {
			return err
		}
	}
	b.line = fmt.Appendf(nil, "%s %d %d\r\n%s", line, len(tooLarge), total-size+len(tooLarge), tooLarge)
	b.rest -= size
	_, err := b.in.Discard(size)
	return err
}

// cutNumber returns the number at the end of a line, and what stands before it. NATS writes no other lines here.
func cutNumber(line []byte) (before []byte, n int) {
	line = bytes.TrimRight(line, " \r\n")
	at := bytes.LastIndexByte(line, ' ')
	n, _ = strconv.Atoi(string(line[at+1:]))
	return line[:max(at, 0)], max(n, 0)
}

// dialer dials connections that are [Bounded].
type dialer struct{ nats.CustomDialer }

// Dial implements [nats.CustomDialer].
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return bounding(d.CustomDialer.Dial(network, address))
}

// SkipTLSHandshake reports whether the dialer has made the handshake, as nats.go asks it.
func (d dialer) SkipTLSHandshake() bool {
	skips, ok := d.CustomDialer.(interface{ SkipTLSHandshake() bool })
	return ok && skips.SkipTLSHandshake()
}

// inProcess connects to a server in this process. Its connections are [Bounded].
type inProcess struct{ nats.InProcessConnProvider }

// InProcessConn implements [nats.InProcessConnProvider].
func (p inProcess) InProcessConn() (net.Conn, error) {
	return bounding(p.InProcessConnProvider.InProcessConn())
}

func bounding(c net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return Bounded(c), nil
}
