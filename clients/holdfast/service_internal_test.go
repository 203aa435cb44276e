package holdfast

import (
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// scripted is a service of one shard in virtual time: mutexes, queues and sessions as of the contract, on messages of which
// a test decides the fate. What it does not need is left out.
type scripted struct {
	t      *testing.T
	server pipeServer
	// features are what it offers.
	features []string

	mu       sync.Mutex
	leases   map[string]*scriptedLease
	tokens   map[string]uint64
	queues   map[string][]scriptedWaiter
	sessions map[string]*scriptedSession
	losses   uint64
	// fate decides how long a request and its answer take; negative: it is lost. nil: no time at all.
	fate func(messages.Operation) (request, answer time.Duration)
	// granted is called with each grant.
	granted func(*messages.Lease)
}

type scriptedLease struct {
	request *messages.AcquireRequest
	token   uint64
	session string
	// deadline counts without a session, for the TTL of the last extension.
	deadline time.Time
	timer    *time.Timer
}

type scriptedWaiter struct {
	request *messages.AcquireRequest
	answer  func(*messages.Reply)
}

type scriptedSession struct {
	deadline time.Time
	losses   uint64
	timer    *time.Timer
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{
		t: t, features: []string{messages.FeatureBatch, messages.FeatureSessions},
		leases: map[string]*scriptedLease{}, tokens: map[string]uint64{}, queues: map[string][]scriptedWaiter{},
		sessions: map[string]*scriptedSession{},
	}
	s.server.publish = s.published
	return s
}

// client returns a client that knows the deployment, and ends with the test.
func (s *scripted) client(opts ...Option) *Client {
	s.t.Helper()
	c, err := New(s.server.connect(s.t), opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.script(nil)
		_ = c.Close(s.t.Context())
	})
	<-c.deployment.known
	return c
}

// script decides on the fate of messages from now on.
func (s *scripted) script(fate func(messages.Operation) (request, answer time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fate = fate
}

// lost is a fate of messages.
const lostOnTheWay = time.Duration(-1)

func (s *scripted) published(subject, reply string, data []byte) {
	encoding := messages.EncodingOf("", data)
	deliver := func(m proto.Message) {
		payload, err := messages.Encode(encoding, m)
		if err != nil {
			s.t.Error(err)
		}
		s.server.deliver(reply, payload)
	}
	if subject == messages.DefaultPrefix.Info() {
		deliver(&messages.Info{Shards: 1, Features: s.features})
		return
	}
	address, err := messages.DefaultPrefix.Parse(subject)
	if err != nil {
		return // it is of no interest
	}
	if address.Operation != messages.OpBatch {
		s.asked(address.Operation, address.Key, data, func(r *messages.Reply) { deliver(r) })
		return
	}
	calls, err := messages.SplitBatch(messages.Protobuf, data)
	if err != nil {
		s.t.Error(err)
	}
	for _, call := range calls {
		answer := func(r *messages.Reply) {
			deliver(&messages.BatchReply{Answers: []*messages.Answer{{Id: call.ID, Reply: r}}})
		}
		if call.Err != nil {
			answer(&messages.Reply{Status: messages.Status_INVALID})
			continue
		}
		s.asked(call.Operation, call.Key, slices.Clone(call.Payload), answer)
	}
}

// asked carries a request out, as its fate is.
func (s *scripted) asked(op messages.Operation, key string, data []byte, answer func(*messages.Reply)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := messages.NewRequest(op)
	if err := messages.Decode(messages.EncodingOf("", data), data, m); err != nil {
		s.t.Error(err)
	}
	var there, back time.Duration
	if s.fate != nil {
		there, back = s.fate(op)
	}
	reply := func(r *messages.Reply) { after(back, func() { answer(r) }) }
	if there == 0 {
		s.decide(key, m, reply)
		return
	}
	after(there, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.decide(key, m, reply)
	})
}

func after(d time.Duration, f func()) {
	switch {
	case d == 0:
		f()
	case d > 0:
		time.AfterFunc(d, f)
	}
}

// decide is called with mu held, as what it calls is.
func (s *scripted) decide(key string, m proto.Message, answer func(*messages.Reply)) {
	switch r := m.(type) {
	case *messages.AcquireRequest:
		s.acquire(key, r, answer)
	case *messages.ReleaseRequest:
		answer(s.release(key, r))
	case *messages.ExtendRequest:
		answer(s.extend(key, r))
	case *messages.GetRequest:
		answer(s.get(key))
	case *messages.KeepRequest:
		answer(s.keep(key, r))
	case *messages.EndRequest:
		answer(s.endSession(key))
	}
}

func (s *scripted) acquire(key string, r *messages.AcquireRequest, answer func(*messages.Reply)) {
	l := s.leases[key]
	same := func(w scriptedWaiter) bool { return w.request.GetRequestId() == r.GetRequestId() }
	i := slices.IndexFunc(s.queues[key], same)
	switch {
	case l != nil && l.request.GetRequestId() == r.GetRequestId():
		answer(&messages.Reply{Status: messages.Status_GRANTED, Lease: s.lease(key)})
	case l == nil:
		s.grant(key, r, answer)
	case r.GetWaitMs() == 0:
		answer(&messages.Reply{Status: messages.Status_HELD, Lease: s.lease(key), Held: 1, Holders: []*messages.Lease{s.lease(key)}})
	default:
		s.open(r)
		if i >= 0 {
			s.queues[key][i] = scriptedWaiter{r, answer}
		} else {
			s.queues[key] = append(s.queues[key], scriptedWaiter{r, answer})
		}
	}
}

func (s *scripted) grant(key string, r *messages.AcquireRequest, answer func(*messages.Reply)) {
	s.tokens[key]++
	l := &scriptedLease{request: r, token: s.tokens[key], session: r.GetSession()}
	s.leases[key] = l
	if l.session == "" {
		s.run(key, l, millis(r.GetTtlMs()))
	} else {
		s.open(r)
	}
	if s.granted != nil {
		s.granted(s.lease(key))
	}
	answer(&messages.Reply{Status: messages.Status_GRANTED, Lease: s.lease(key)})
}

func (s *scripted) open(r *messages.AcquireRequest) {
	if id := r.GetSession(); id != "" && s.sessions[id] == nil {
		s.losses++
		s.sessions[id] = &scriptedSession{losses: s.losses}
		s.prolong(id, millis(r.GetTtlMs()))
	}
}

func (s *scripted) prolong(id string, ttl time.Duration) {
	x := s.sessions[id]
	if x.timer != nil {
		x.timer.Stop()
	}
	x.deadline = time.Now().Add(ttl)
	x.timer = time.AfterFunc(ttl, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sessions[id] == x && !time.Now().Before(x.deadline) {
			s.endSession(id)
		}
	})
}

func (s *scripted) endSession(id string) *messages.Reply {
	if s.sessions[id] == nil {
		return &messages.Reply{Status: messages.Status_NOT_HELD}
	}
	s.sessions[id].timer.Stop()
	delete(s.sessions, id)
	var ended []string
	for key, l := range s.leases {
		if l.session == id {
			ended = append(ended, key)
		}
	}
	for _, key := range ended {
		delete(s.leases, key)
	}
	for _, key := range ended {
		s.serve(key)
	}
	return &messages.Reply{Status: messages.Status_RELEASED}
}

// run lets a lease run by itself.
func (s *scripted) run(key string, l *scriptedLease, ttl time.Duration) {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.session, l.deadline = "", time.Now().Add(ttl)
	l.timer = time.AfterFunc(ttl, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leases[key] == l && l.session == "" && !time.Now().Before(l.deadline) {
			s.free(key)
		}
	})
}

// free ends a lease.
func (s *scripted) free(key string) {
	delete(s.leases, key)
	s.serve(key)
}

func (s *scripted) serve(key string) {
	if q := s.queues[key]; len(q) > 0 && s.leases[key] == nil {
		s.queues[key] = q[1:]
		s.grant(key, q[0].request, q[0].answer)
	}
}

func (s *scripted) release(key string, r *messages.ReleaseRequest) *messages.Reply {
	if i := slices.IndexFunc(s.queues[key], func(w scriptedWaiter) bool { return w.request.GetRequestId() == r.GetRequestId() }); i >= 0 {
		s.queues[key] = slices.Delete(s.queues[key], i, i+1)
		return &messages.Reply{Status: messages.Status_CANCELLED}
	}
	if l := s.leases[key]; l == nil || l.token != r.GetToken() {
		return &messages.Reply{Status: messages.Status_NOT_HELD}
	}
	s.free(key)
	return &messages.Reply{Status: messages.Status_RELEASED}
}

func (s *scripted) extend(key string, r *messages.ExtendRequest) *messages.Reply {
	l := s.leases[key]
	if l == nil || l.token != r.GetToken() {
		return &messages.Reply{Status: messages.Status_EXPIRED}
	}
	s.run(key, l, millis(r.GetTtlMs()))
	return &messages.Reply{Status: messages.Status_EXTENDED, Lease: s.lease(key)}
}

func (s *scripted) get(key string) *messages.Reply {
	if s.leases[key] == nil {
		return &messages.Reply{Status: messages.Status_FREE}
	}
	return &messages.Reply{Status: messages.Status_HELD, Lease: s.lease(key), Held: 1, Holders: []*messages.Lease{s.lease(key)}}
}

func (s *scripted) keep(id string, r *messages.KeepRequest) *messages.Reply {
	x := s.sessions[id]
	if x == nil {
		return &messages.Reply{Status: messages.Status_NOT_HELD}
	}
	s.prolong(id, millis(r.GetTtlMs()))
	held := uint32(0)
	for _, l := range s.leases {
		if l.session == id {
			held++
		}
	}
	return &messages.Reply{Status: messages.Status_EXTENDED, Held: held, Losses: x.losses}
}

// lease returns the public view of a lease.
func (s *scripted) lease(key string) *messages.Lease {
	l := s.leases[key]
	deadline, label := l.deadline, ""
	if l.session != "" {
		deadline, label = s.sessions[l.session].deadline, messages.SessionLabel(messages.SessionHash(l.session))
	}
	return &messages.Lease{
		Resource: key, Owner: l.request.GetOwner(), Token: l.token, TtlMs: l.request.GetTtlMs(), Session: label,
		RemainingMs: uint32(time.Until(deadline) / time.Millisecond),
	}
}
