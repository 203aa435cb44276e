package commands_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands"
	"github.com/holdfast-io/holdfast/messages"
)

// fakeNode answers requests as a test wants.
type fakeNode struct {
	url     string
	nc      *nats.Conn
	running *server.Server

	mu       sync.Mutex
	requests []*nats.Msg
	heard    chan int
}

// withNATS starts a server without a node.
func withNATS(t *testing.T) *fakeNode {
	t.Helper()
	running, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true,
		NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	running.Start()
	t.Cleanup(func() { running.Shutdown(); running.WaitForShutdown() })
	if !running.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server is not ready")
	}
	closed := make(chan struct{})
	nc, err := nats.Connect(running.ClientURL(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	// A command may leave a request behind: the test ends after the node has answered it.
	t.Cleanup(func() {
		if err := nc.Drain(); err != nil {
			nc.Close()
		}
		<-closed
	})
	return &fakeNode{url: running.ClientURL(), nc: nc, running: running, heard: make(chan int, 100)}
}

// heardByNATS returns how many messages clients have sent.
func (f *fakeNode) heardByNATS(t *testing.T) int64 {
	t.Helper()
	v, err := f.running.Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	return v.InMsgs
}

// withNode starts a node that answers the nth request, counted from 1, with what answer returns; with
// nothing if that is nil.
func withNode(t *testing.T, answer func(n int) *messages.Reply) *fakeNode {
	t.Helper()
	f := withNATS(t)
	_, err := f.nc.Subscribe("holdfast.>", func(m *nats.Msg) {
		f.mu.Lock()
		f.requests = append(f.requests, m)
		n := len(f.requests)
		f.mu.Unlock()
		if r := answer(n); r != nil {
			f.answer(t, m, r)
		}
		f.heard <- n
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return f
}

// withEarlierVersion starts a node of an earlier version of the contract. It has these features, serves these subjects,
// and does not know a field of any request.
func withEarlierVersion(t *testing.T, features []string, subjects ...string) *fakeNode {
	t.Helper()
	f := withNATS(t)
	for _, subject := range subjects {
		_, err := f.nc.Subscribe(subject, func(m *nats.Msg) {
			answer := proto.Message(&messages.Info{Version: "v1.0.0", Shards: 1, Features: features})
			if m.Subject != "holdfast.info" {
				answer = refused(messages.Status_INVALID, "payload: an unknown field")
			}
			f.list(t, m, answer)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return f
}

// answer answers a request. A lease that is granted has the owner of the request: another answer is not one to it.
func (f *fakeNode) answer(t *testing.T, m *nats.Msg, r *messages.Reply) {
	t.Helper()
	var request messages.AcquireRequest
	if r.GetStatus() == messages.Status_GRANTED &&
		messages.Decode(messages.EncodingOf("", m.Data), m.Data, &request) == nil {
		r = proto.CloneOf(r)
		r.Lease.Owner = request.GetOwner()
	}
	data, err := messages.Encode(messages.EncodingOf("", m.Data), r)
	if err != nil {
		t.Error(err)
	}
	if err := m.Respond(data); err != nil {
		t.Error(err)
	}
}

// request returns the nth one, decoded.
func (f *fakeNode) request(t *testing.T, n int, into proto.Message) *nats.Msg {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.requests) < n {
		t.Fatalf("%d requests, wanted %d", len(f.requests), n)
	}
	m := f.requests[n-1]
	if err := messages.Decode(messages.EncodingOf("", m.Data), m.Data, into); err != nil {
		t.Fatal(err)
	}
	return m
}

type result struct {
	code           int
	stdout, stderr string
}

func (f *fakeNode) run(ctx context.Context, args ...string) result {
	return f.runAsGiven(ctx, append(args, "--server", f.url)...)
}

// runAsGiven runs a command that has the flag of the server already.
func (f *fakeNode) runAsGiven(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	p := &commands.Program{Stdout: &stdout, Stderr: &stderr}
	code := p.Run(ctx, args)
	return result{code, stdout.String(), stderr.String()}
}

func (r result) want(t *testing.T, code int, text string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stdout+r.stderr, text) {
		t.Errorf("exit code %d, stdout %q, stderr %q; want %d and %q", r.code, r.stdout, r.stderr, code, text)
	}
}

func granted(token uint64) *messages.Reply {
	return &messages.Reply{Status: messages.Status_GRANTED, Lease: &messages.Lease{
		Resource: "orders.42", Owner: "me", Token: token, TtlMs: 15000, RemainingMs: 15000,
	}}
}

func refused(s messages.Status, why string) *messages.Reply {
	return &messages.Reply{Status: s, Error: why}
}

func TestAskingAgain(t *testing.T) {
	t.Run("TheSameRequestUntilItIsAnswered", func(t *testing.T) {
		t.Parallel()
		f := withNode(t, func(n int) *messages.Reply {
			if n < 3 {
				return nil
			}
			return granted(7)
		})
		f.run(t.Context(), "acquire", "orders.42").want(t, 0, "acquired orders.42: token 7, lease 15s\n")
		var first, third messages.AcquireRequest
		f.request(t, 1, &first)
		f.request(t, 3, &third)
		if first.GetRequestId() == "" || !proto.Equal(&first, &third) {
			t.Errorf("the first request was %v, the third %v", &first, &third)
		}
	})
	t.Run("AnotherRequestWhenTheLeaseHasEnded", func(t *testing.T) {
		t.Parallel()
		for _, ended := range []messages.Status{messages.Status_EXPIRED, messages.Status_RELEASED} {
			over := granted(6)
			over.Status = ended
			f := withNode(t, func(n int) *messages.Reply {
				if n == 1 {
					return over
				}
				return granted(7)
			})
			f.run(t.Context(), "acquire", "orders.42").want(t, 0, "acquired orders.42: token 7, lease 15s\n")
			var first, second messages.AcquireRequest
			f.request(t, 1, &first)
			f.request(t, 2, &second)
			if first.GetRequestId() == "" || first.GetRequestId() == second.GetRequestId() {
				t.Errorf("the first request was %v, the second %v", &first, &second)
			}
			f = withNode(t, func(int) *messages.Reply { return over })
			f.run(t.Context(), "acquire", "orders.42", "--request-id", "mine").want(t, 4,
				"token 6, and that lease has ended; use another --request-id")
		}
	})
	t.Run("OnlyWhatIsLeftOfTheWait", func(t *testing.T) {
		t.Parallel()
		f := withNode(t, func(n int) *messages.Reply {
			if n < 2 {
				return nil
			}
			return &messages.Reply{Status: messages.Status_TIMEOUT}
		})
		f.run(t.Context(), "acquire", "orders.42", "--wait", "1m").want(t, 3, "timed out: orders.42")
		var first, second messages.AcquireRequest
		f.request(t, 1, &first)
		f.request(t, 2, &second)
		if first.GetWaitMs() <= second.GetWaitMs() || second.GetWaitMs() < 50_000 {
			t.Errorf("waits of %d and then %d ms", first.GetWaitMs(), second.GetWaitMs())
		}
	})
	t.Run("LongerThanTheServiceLetsItWait", func(t *testing.T) {
		t.Parallel()
		f := withNode(t, func(n int) *messages.Reply {
			if n < 3 {
				return &messages.Reply{Status: messages.Status_TIMEOUT}
			}
			return granted(7)
		})
		f.run(t.Context(), "acquire", "orders.42", "--wait", "2h").want(t, 0, "token 7")
		for n := range 3 {
			var r messages.AcquireRequest
			if f.request(t, n+1, &r); r.GetWaitMs() != messages.MaxWaitMillis {
				t.Errorf("request %d waits for %d ms", n+1, r.GetWaitMs())
			}
		}
	})
	t.Run("ALateAnswerCounts", func(t *testing.T) {
		t.Parallel()
		var f *fakeNode
		ready := make(chan struct{})
		f = withNode(t, func(n int) *messages.Reply {
			<-ready
			if n == 2 {
				f.answer(t, f.requests[0], granted(1))
			}
			return nil
		})
		close(ready)
		f.run(t.Context(), "acquire", "orders.42").want(t, 0, "token 1")
	})
	t.Run("AfterUnavailable", func(t *testing.T) {
		t.Parallel()
		f := withNode(t, func(n int) *messages.Reply {
			if n < 3 {
				return refused(messages.Status_UNAVAILABLE, "no owner just now")
			}
			return granted(2)
		})
		f.run(t.Context(), "acquire", "orders.42").want(t, 0, "token 2")
	})
}

func TestWhatIsKnownWithoutAnAnswer(t *testing.T) {
	silent := func(int) *messages.Reply { return nil }
	t.Run("NoServer", func(t *testing.T) {
		t.Parallel()
		f := &fakeNode{url: "nats://127.0.0.1:1"}
		f.run(t.Context(), "acquire", "orders.42", "--timeout", "100ms").want(t, 5,
			"no NATS server answers at nats://127.0.0.1:1")
	})
	t.Run("NoNode", func(t *testing.T) {
		t.Parallel()
		f := withNATS(t)
		f.run(t.Context(), "acquire", "orders.42", "--timeout", "1s").want(t, 5,
			"no Holdfast node answers at "+f.url)
	})
	t.Run("Silence", func(t *testing.T) {
		t.Parallel()
		withNode(t, silent).run(t.Context(), "acquire", "orders.42", "--timeout", "1s").want(t, 6,
			"acquire may have had an effect")
	})
	t.Run("SilenceToGet", func(t *testing.T) {
		t.Parallel()
		withNode(t, silent).run(t.Context(), "get", "orders.42", "--timeout", "1s").want(t, 5,
			"the request had no effect")
	})
	t.Run("SilenceAndThenARefusal", func(t *testing.T) {
		t.Parallel()
		f := withNode(t, func(n int) *messages.Reply {
			if n == 1 {
				return nil
			}
			return refused(messages.Status_OVERLOADED, "the queue is full")
		})
		f.run(t.Context(), "acquire", "orders.42", "--timeout", "1s").want(t, 6, "acquire may have had an effect")
	})
	t.Run("OnlyRefusals", func(t *testing.T) {
		t.Parallel()
		f := withNode(t, func(int) *messages.Reply { return refused(messages.Status_UNAVAILABLE, "no owner just now") })
		f.run(t.Context(), "acquire", "orders.42", "--timeout", "300ms").want(t, 5, "unavailable: no owner just now")
	})
	t.Run("NotAnAnswer", func(t *testing.T) {
		t.Parallel()
		f := withNATS(t)
		if _, err := f.nc.Subscribe("holdfast.>", func(m *nats.Msg) { _ = m.Respond([]byte{0xff}) }); err != nil {
			t.Fatal(err)
		}
		if err := f.nc.Flush(); err != nil {
			t.Fatal(err)
		}
		f.run(t.Context(), "acquire", "orders.42").want(t, 6, "cannot decode the answer")
	})
}

// A node that restarts is missing for longer than a few tries.
func TestWaitingForANode(t *testing.T) {
	t.Parallel()
	f := withNATS(t)
	done := make(chan result, 1)
	go func() { done <- f.run(t.Context(), "acquire", "orders.42", "--timeout", "1m") }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for tries := int64(0); tries < 10; tries = f.heardByNATS(t) {
		select {
		case r := <-done:
			t.Fatalf("it gave up after %d tries: %+v", tries, r)
		case <-tick.C:
		}
	}
	if _, err := f.nc.Subscribe("holdfast.>", func(m *nats.Msg) { f.answer(t, m, granted(1)) }); err != nil {
		t.Fatal(err)
	}
	(<-done).want(t, 0, "token 1")
}

func TestAnswersAreNotTrusted(t *testing.T) {
	evil := "x\x1b[2J\u202e\u009b"
	lease := &messages.Lease{Resource: evil, Owner: evil, Token: 3, Metadata: map[string]string{evil: evil}}
	for name, reply := range map[string]*messages.Reply{
		"Held":    {Status: messages.Status_HELD, Lease: lease},
		"Error":   {Status: messages.Status_OVERLOADED, Error: evil + "\nholdfast: fine"},
		"Unknown": {Status: 99, Lease: lease},
		"Empty":   {},
	} {
		for _, args := range [][]string{{"acquire", "--timeout", "500ms", "orders.42"},
			{"acquire", "orders.42", "--timeout", "500ms", "--json"}} {
			t.Run(name+"/"+args[len(args)-1], func(t *testing.T) {
				t.Parallel()
				f := withNode(t, func(int) *messages.Reply { return reply })
				r := f.run(t.Context(), args...)
				if out := r.stdout + r.stderr; strings.ContainsAny(out, "\x1b\u202e\u009b") ||
					strings.Count(out, "\n") != 1 {
					t.Errorf("printed %q", out)
				}
				if r.code == 0 {
					t.Error("exit code 0")
				}
			})
		}
	}
}

func TestInterruptedWait(t *testing.T) {
	// run starts a wait, interrupts it when the request has arrived, and answers what comes then.
	run := func(t *testing.T, answer func(f *fakeNode, n int) *messages.Reply) (*fakeNode, result) {
		t.Helper()
		var f *fakeNode
		ctx, interrupt := context.WithCancel(t.Context())
		ready := make(chan struct{})
		f = withNode(t, func(n int) *messages.Reply {
			<-ready
			if n == 1 {
				interrupt()
				return nil
			}
			return answer(f, n)
		})
		close(ready)
		return f, f.run(ctx, "acquire", "orders.42", "--owner", "me", "--wait", "1m", "--request-id", "id")
	}
	t.Run("LeavesTheQueue", func(t *testing.T) {
		t.Parallel()
		f, r := run(t, func(*fakeNode, int) *messages.Reply {
			return &messages.Reply{Status: messages.Status_CANCELLED}
		})
		r.want(t, 3, "cancelled: no longer waiting for orders.42")
		var release messages.ReleaseRequest
		m := f.request(t, 2, &release)
		if m.Subject != "holdfast.release.orders.42" || release.GetRequestId() != "id" || release.GetOwner() != "me" {
			t.Errorf("%s %v", m.Subject, &release)
		}
		if release.GetToken() == 0 {
			t.Error("would release whatever this owner holds")
		}
	})
	t.Run("GivesBackWhatItGotAtTheLastMoment", func(t *testing.T) {
		t.Parallel()
		f, r := run(t, func(f *fakeNode, n int) *messages.Reply {
			if n == 2 {
				f.answer(t, f.requests[0], granted(5))
				return &messages.Reply{Status: messages.Status_STALE_TOKEN}
			}
			return &messages.Reply{Status: messages.Status_RELEASED}
		})
		r.want(t, 3, "cancelled: no longer waiting for orders.42")
		var release messages.ReleaseRequest
		f.request(t, 3, &release)
		if release.GetToken() != 5 {
			t.Errorf("released token %d, not 5", release.GetToken())
		}
	})
	t.Run("ItMayNotHaveArrived", func(t *testing.T) {
		t.Parallel()
		_, r := run(t, func(*fakeNode, int) *messages.Reply {
			return &messages.Reply{Status: messages.Status_NOT_OWNER}
		})
		r.want(t, 6, "interrupted before an answer")
	})
}
