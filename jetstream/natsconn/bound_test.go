package natsconn_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// scripted is a connection on which this is read.
type scripted struct {
	net.Conn
	io.Reader
}

func (s scripted) Read(p []byte) (int, error) { return s.Reader.Read(p) }

// What a server sends arrives as it was, but for the headers of messages that have too many lines or bytes of them. How
// the network divides it does not matter.
func TestBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent, want bytes.Buffer
		for range rapid.IntRange(1, 20).Draw(t, "messages") {
			body := rapid.SampledFrom([]string{"", "x", "HMSG a 1 2 3\r\n", strings.Repeat("long", 1000)}).Draw(t,
				"body")
			lines := rapid.SampledFrom([]int{0, 1, 30, 31, 32, 1000, 50_000}).Draw(t, "lines")
			long := rapid.SampledFrom([]int{0, 10, 70 << 10, 73 << 10}).Draw(t, "long")
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); kind {
			case 0:
				both(&sent, &want, fmt.Sprintf("MSG some.subject 7 %d\r\n%s\r\n", len(body), body))
			case 1:
				both(&sent, &want, rapid.SampledFrom(
					[]string{"PING\r\n", "+OK\r\n", "-ERR 'no'\r\n", "INFO {\"a\":1}\r\n"}).Draw(t, "line"))
			default:
				headers := "NATS/1.0\r\n" + strings.Repeat("a: b\r\n", lines) + "c:" + strings.Repeat("d", long) +
					"\r\n\r\n"
				reply := strings.Repeat("reply ", kind-2)
				text := func(headers string) string {
					return fmt.Sprintf("HMSG some.subject 7 %s%d %d\r\n%s%s\r\n", reply, len(headers),
						len(headers)+len(body), headers, body)
				}
				sent.WriteString(text(headers))
				if strings.Count(headers, "\n") > 32 || len(headers) > 72<<10 {
					headers = "NATS/1.0 431\r\n\r\n"
				}
				want.WriteString(text(headers))
			}
		}
		reader := rapid.SampledFrom([]func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
		}).Draw(t, "reader")
		got, err := io.ReadAll(natsconn.Bounded(scripted{Reader: reader(&sent)}))
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("got %d bytes, %v, want %d", len(got), err, want.Len())
		}
	})
}

func both(sent, want *bytes.Buffer, text string) {
	sent.WriteString(text)
	want.WriteString(text)
}

// An encrypted connection passes as it is.
func TestBoundedSeesNothingOfTLS(t *testing.T) {
	for _, text := range []string{"\x16\x03\x01\n\n\n", "\x82\x7e\x01\n", "INFO {}\r\n\x16\x03\x03HMSG \n"} {
		if got, err := io.ReadAll(natsconn.Bounded(scripted{Reader: strings.NewReader(text)})); err != nil || string(got) != text {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
	}
}

// The connections of a node read large headers as a status.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, jstest.GoodConfig)
	nc, err := natsconn.Dial(natsconn.Config{URL: s.ClientURL(), Log: jstest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	sub, err := nc.SubscribeSync("a")
	if err != nil {
		t.Fatal(err)
	}
	many := nats.Header{}
	for i := range 100 {
		many[fmt.Sprint("n", i)] = []string{"v"}
	}
	for _, test := range []struct {
		header nats.Header
		want   int
	}{{many, 1}, {nats.Header{"a": {"b"}, "c": {"d"}}, 2}} {
		if err := nc.PublishMsg(&nats.Msg{Subject: "a", Header: test.header, Data: []byte("body")}); err != nil {
			t.Fatal(err)
		}
		m, err := sub.NextMsg(time.Minute)
		if err != nil || len(m.Header) != test.want || string(m.Data) != "body" {
			t.Errorf("got %v, %v, want %d headers", m, err, test.want)
		}
		if test.want == 1 && m.Header.Get("Status") != natsconn.StatusTooLarge {
			t.Errorf("got %v, want the status", m.Header)
		}
	}
}
